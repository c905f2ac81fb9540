// Package tool has the tools of players of environments: a Python that runs the model's code in a sandbox,
// a search engine, and the tools of MCP servers. Their formats are GEM's (axon-rl/gem, gem/tools), so that a model
// trained with one can be used with the other; their instructions are worded anew.
//
// A Box opens the tools of a configuration and returns wrappers for env.Wrappers. The model reads its own mistakes as
// an observation. A server that does not answer and a sandbox that fails are errors, which end the episode as a failed
// one: they are never a reward.
package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Box opens tools, each as often as it is asked for in different ways, and closes them all. It is safe for concurrent
// use and implements env.Toolbox.
type Box struct {
	o Options

	mu   sync.Mutex
	kits map[env.ToolSpec]*kit
}

// Options are the surroundings of tools. The zero value has no variables, no notes and no sandbox.
type Options struct {
	// LookupEnv reads the few variables of the environment that count: SEARCH_URL, VIRTUAL_ENV, and those that MCP
	// servers are started with.
	LookupEnv func(string) (string, bool)

	// Note gets, once each, remarks for the user, such as the sandbox in use.
	Note func(string)

	// Pause is the time before a server that failed is asked again; 0 is a second.
	Pause time.Duration

	// Staged says that the main function of this program begins with Stage.
	Staged bool
}

// Stage runs the stage of a sandbox if this process is one. A program whose tools run code in a sandbox calls it first
// of all in main, with os.Args, and exits with the code: the program is part of its own sandbox.
func Stage(args []string) (code int, is bool) { return sandbox.Stage(args) }

// NewBox makes a box.
func NewBox(o Options) *Box {
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	o.Pause = cmp.Or(o.Pause, time.Second)
	return &Box{o: o, kits: map[env.ToolSpec]*kit{}}
}

// Names implements env.Toolbox.
func (b *Box) Names(s env.ToolSpec) (map[string]env.Wrapper, error) {
	same := func(e env.Env) env.Env { return e }
	all := map[string]env.Wrapper{env.AllTools: same}
	for name := range wrappers() {
		all[name] = same
	}
	return all, check(b.complete(s))
}

// errClosed is returned by calls after the end.
var errClosed = errors.New("the tools are closed")

// Wrappers implements env.Toolbox.
func (b *Box) Wrappers(ctx context.Context, s env.ToolSpec) (map[string]env.Wrapper, error) {
	s = b.complete(s)
	if err := check(s); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kits == nil {
		return nil, errClosed
	}
	k := b.kits[s]
	if k == nil {
		k = &kit{tools: map[string]wrapped{}}
		if err := k.open(ctx, b, s); err != nil {
			return nil, errors.Join(err, k.close())
		}
		b.kits[s] = k
	}
	return k.wrappers(ctx), nil
}

// Close ends the servers that were started.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, k := range b.kits {
		errs = append(errs, k.close())
	}
	b.kits = nil
	return errors.Join(errs...)
}

// complete fills empty fields from the environment.
func (b *Box) complete(s env.ToolSpec) env.ToolSpec {
	if s.SearchURL == "" {
		s.SearchURL, _ = b.o.LookupEnv("SEARCH_URL")
	}
	if dir, ok := b.o.LookupEnv("VIRTUAL_ENV"); ok && s.Python == "" && dir != "" {
		s.Python = filepath.Join(dir, "bin", "python3")
	}
	return s
}

// check refuses invalid tools.
func check(s env.ToolSpec) error {
	list, err := parseTools(s.Tools)
	if err != nil {
		return err
	}
	if _, err := sandbox.ParseKind(s.Sandbox); err != nil {
		return err
	}
	for _, r := range list {
		if r.tool == "mcp" {
			if _, err := readServers(r.server); err != nil {
				return err
			}
		}
	}
	searches := slices.Contains(list, request{tool: "search"})
	for _, name := range used(s) {
		searches = searches || wrappers()[name].tool == "search"
	}
	switch {
	case searches && s.SearchURL == "":
		return errors.New("tool: the search tool has no server; set search_url to one, such as " +
			"http://localhost:8000/retrieve, or the environment variable SEARCH_URL")
	case s.Timeout < 0 || s.Timeout > 3600 || math.IsNaN(s.Timeout):
		return fmt.Errorf("tool: tool_timeout is %v; it must be from 0 to 3600 seconds, 0 for %v", s.Timeout,
			pythonTimeout)
	case slices.Contains(names(s), env.AllTools) && len(list) == 0:
		return errors.New("tool: the wrapper tools needs the key tools, such as tools=python,search")
	}
	return s.Rules.Check()
}

// named is a wrapper that GEM has for a tool.
type named struct {
	tool     string
	lastLine bool
	rules    env.ToolOptions
}

// wrappers are GEM's wrappers of tools (gem/wrappers/wrapper_factory.py).
func wrappers() map[string]named {
	python := env.ToolOptions{Reward: 0.05, SuccessReward: 0.25, MaxUses: 5}
	search := env.ToolOptions{Reward: 0.3, MaxUses: 5}
	none := env.ToolOptions{MaxUses: 5}
	return map[string]named{
		"python_tool":                               {"python", false, python},
		"python_tool_no_int_reward":                 {"python", false, none},
		"python_tool_no_int_reward_last_line_error": {"python", true, none},
		"search_tool":                               {"search", false, search},
		"search_tool_no_int_reward":                 {"search", false, none},
	}
}

// names are the names in Wrappers.
func names(s env.ToolSpec) []string {
	list := strings.Split(s.Wrappers, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// used are GEM's wrappers of tools among the names.
func used(s env.ToolSpec) (list []string) {
	known := wrappers()
	for _, name := range names(s) {
		if _, ok := known[name]; ok && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// request is a tool that is asked for: its kind, and of mcp the server.
type request struct{ tool, server string }

// parseTools reads ToolSpec.Tools.
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
