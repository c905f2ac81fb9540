// Package tool is the tools that players of environments have: a Python that runs what the model writes in a sandbox, a
// search engine, and the tools of MCP servers. Their formats are GEM's (axon-rl/gem, gem/tools), so that a model trained
// with one can be used with the other; their instructions are worded anew.
//
// Open makes what a configuration names and returns wrappers for env.Wrappers. What a model does wrong it reads as an
// observation. A server that does not answer and a sandbox that fails are errors, which end the episode as a failed one:
// they are never a reward.
package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Options say which tools are wanted and how. Only what is named is opened.
type Options struct {
	// Tools names tools that a player has all together, in one wrapper named All: python, search, mcp:URL,
	// mcp:FILE.json and mcp:COMMAND, separated by commas; "" for none. Rules are their rewards and limits.
	Tools string
	Rules env.ToolOptions

	// Wrappers names wrappers as env.Wrappers reads them. Those that GEM has for tools have rules of their own.
	Wrappers string

	Python    string        // the program; "" is python3
	Sandbox   sandbox.Kind  // for Python's code
	Timeout   time.Duration // of a program; 0 is 10 s
	SearchURL string
	TopK      int // documents of a search; 0 is 3

	// LookupEnv reads the few variables of the environment that MCP servers are started with; nil for none.
	LookupEnv func(string) (string, bool)
}

// All is the name of the wrapper with all of Options.Tools.
const All = "tools"

// named is a wrapper that GEM has for a tool.
type named struct {
	tool     string
	lastLine bool
	rules    env.ToolOptions
}

// wrappers are GEM's wrappers of tools (gem/wrappers/wrapper_factory.py).
func wrappers() map[string]named {
	return map[string]named{
		"python_tool":                               {"python", false, env.ToolOptions{Reward: 0.05, SuccessReward: 0.25, MaxUses: 5}},
		"python_tool_no_int_reward":                 {"python", false, env.ToolOptions{MaxUses: 5}},
		"python_tool_no_int_reward_last_line_error": {"python", true, env.ToolOptions{MaxUses: 5}},
		"search_tool":                               {"search", false, env.ToolOptions{Reward: 0.3, MaxUses: 5}},
		"search_tool_no_int_reward":                 {"search", false, env.ToolOptions{MaxUses: 5}},
	}
}

// Names are wrappers that change nothing, under the names of those that Open makes. Names can be checked with them
// before anything is opened.
func Names() map[string]env.Wrapper {
	same := func(e env.Env) env.Env { return e }
	all := map[string]env.Wrapper{All: same}
	for name := range wrappers() {
		all[name] = same
	}
	return all
}

// Used reports whether options name any tool.
func (o Options) Used() bool {
	return strings.TrimSpace(o.Tools) != "" || len(o.usedWrappers()) > 0
}

// Check refuses options that cannot be used, without opening anything.
func (o Options) Check() error {
	list, err := parseTools(o.Tools)
	if err != nil {
		return err
	}
	needs := func(tool string) bool {
		return slices.ContainsFunc(list, func(r request) bool { return r.tool == tool }) ||
			slices.ContainsFunc(o.usedWrappers(), func(name string) bool { return wrappers()[name].tool == tool })
	}
	switch {
	case needs("search") && o.SearchURL == "":
		return errors.New("tool: the search tool has no server; set search_url=http://HOST:8000/retrieve, or " +
			"SEARCH_URL")
	case o.Timeout < 0:
		return fmt.Errorf("tool: tool_timeout is %v; it must be above 0, or 0 for %v", o.Timeout, pythonTimeout)
	case slices.Contains(o.names(), All) && len(list) == 0:
		return errors.New("tool: the wrapper tools needs the key tools, such as tools=python,search")
	}
	return o.Rules.Check()
}

// names are the names in Wrappers.
func (o Options) names() []string {
	list := strings.Split(o.Wrappers, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// usedWrappers are GEM's wrappers of tools among the names.
func (o Options) usedWrappers() (used []string) {
	known := wrappers()
	for _, name := range o.names() {
		if _, ok := known[name]; ok && !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	return used
}

// WithTools puts the wrapper All in front of the names of wrappers if there are tools and it is not named yet.
func WithTools(tools, names string) string {
	switch {
	case strings.TrimSpace(tools) == "" || slices.Contains(Options{Wrappers: names}.names(), All):
		return names
	case strings.TrimSpace(names) == "":
		return All
	}
	return All + "," + names
}

// request is a tool that is asked for: its kind, and of mcp the server.
type request struct{ tool, server string }

// parseTools reads Options.Tools.
func parseTools(text string) (list []request, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		kind, server, _ := strings.Cut(item, ":")
		switch {
		case item == "python" || item == "python_code":
			list = append(list, request{tool: "python"})
		case item == "search":
			list = append(list, request{tool: "search"})
		case kind == "mcp" && strings.TrimSpace(server) != "":
			list = append(list, request{"mcp", strings.TrimSpace(server)})
		default:
			return nil, fmt.Errorf("tool: there is no tool %q; there are python, search, mcp:URL, mcp:FILE.json and "+
				"mcp:COMMAND", item)
		}
	}
	return list, nil
}

// Kit is open tools.
type Kit struct {
	wrappers map[string]env.Wrapper
	notes    []string
	opened   []*MCP
	cancel   context.CancelFunc
}

// Open opens what options name. Calls of the tools end with ctx.
func Open(ctx context.Context, o Options) (*Kit, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	calls, cancel := context.WithCancel(ctx)
	k := &Kit{wrappers: map[string]env.Wrapper{}, cancel: cancel}
	if err := k.open(calls, o); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

// Wrappers are the wrappers by name. Do not change the map.
func (k *Kit) Wrappers() map[string]env.Wrapper { return k.wrappers }

// Notes say what the user should know, such as the sandbox that is used.
func (k *Kit) Notes() []string { return k.notes }

// Close ends the calls under way and the servers that were started.
func (k *Kit) Close() error {
	k.cancel()
	var errs []error
	for _, m := range k.opened {
		errs = append(errs, m.close())
	}
	k.opened = nil
	return errors.Join(errs...)
}

func (k *Kit) open(ctx context.Context, o Options) error {
	list, err := parseTools(o.Tools)
	if err != nil {
		return err
	}
	var python *Python
	open := func(r request) (env.Tool, error) {
		switch r.tool {
		case "python":
			if python != nil {
				return python, nil
			}
			python, err = k.openPython(ctx, o)
			return python, err
		case "search":
			return newSearch(o.SearchURL, cmp.Or(o.TopK, 3)), nil
		}
		m, err := openMCP(ctx, r.server, o.LookupEnv)
		if err == nil {
			k.opened = append(k.opened, m)
		}
		return m, err
	}
	var all []env.Tool
	for _, r := range list {
		t, err := open(r)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	if len(all) > 0 {
		k.wrappers[All] = wrapper(ctx, all, o.Rules)
	}
	for _, name := range o.usedWrappers() {
		w := wrappers()[name]
		t, err := open(request{tool: w.tool})
		if err != nil {
			return err
		}
		if w.lastLine {
			p := *python
			p.lastLine, t = true, &p
		}
		k.wrappers[name] = wrapper(ctx, []env.Tool{t}, w.rules)
	}
	return nil
}

// openPython finds the interpreter and the sandbox.
func (k *Kit) openPython(ctx context.Context, o Options) (*Python, error) {
	box, err := sandbox.Open(ctx, sandbox.Options{Kind: o.Sandbox})
	if err != nil {
		return nil, fmt.Errorf("tool: the Python tool runs code that a model wrote: %w", err)
	}
	program, err := findPython(ctx, cmp.Or(o.Python, "python3"))
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("the model's code runs in Python %s (%s), sandbox: %v", program.Version, program.Executable, box)
	if box.Kind() == sandbox.None {
		note += "; it has all rights of this user"
	}
	k.notes = append(k.notes, note)
	return newPython(box, program, cmp.Or(o.Timeout, pythonTimeout), runtime.GOMAXPROCS(0)), nil
}

// wrapper is a wrapper of tools. Its rules were checked, so it cannot fail.
func wrapper(ctx context.Context, tools []env.Tool, rules env.ToolOptions) env.Wrapper {
	return func(e env.Env) env.Env { return env.NewTools(ctx, e, tools, rules) }
}
