package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// kit is the open tools of one specification.
type kit struct {
	tools  map[string]wrapped // by the name of the wrapper
	python *Python
	opened []*MCP
}

// wrapped are the tools of a wrapper.
type wrapped struct {
	tools []env.Tool
	rules env.ToolOptions
}

// wrappers are the wrappers by name. Calls of their tools end with ctx.
func (k *kit) wrappers(ctx context.Context) map[string]env.Wrapper {
	all := map[string]env.Wrapper{}
	for name, w := range k.tools {
		all[name] = func(e env.Env) env.Env { return env.NewTools(ctx, e, w.tools, w.rules) }
	}
	return all
}

func (k *kit) close() error {
	var errs []error
	for _, m := range k.opened {
		errs = append(errs, m.close())
	}
	k.opened = nil
	return errors.Join(errs...)
}

// open opens the tools of s, which was checked.
func (k *kit) open(ctx context.Context, b *Box, s env.ToolSpec) error {
	list, err := parseTools(s.Tools)
	if err != nil {
		return err
	}
	var all []env.Tool
	for _, r := range list {
		t, err := k.tool(ctx, b, s, r)
		if err != nil {
			return err
		}
		all = append(all, t)
	}
	if len(all) > 0 {
		k.tools[env.AllTools] = wrapped{all, s.Rules}
	}
	for _, name := range used(s) {
		w := wrappers()[name]
		t, err := k.tool(ctx, b, s, request{tool: w.tool})
		if err != nil {
			return err
		}
		if w.lastLine {
			p := *k.python
			p.lastLine, t = true, &p
		}
		k.tools[name] = wrapped{[]env.Tool{t}, w.rules}
	}
	return nil
}

// tool opens one tool. There is one Python, so that the number of programs at once is bounded.
func (k *kit) tool(ctx context.Context, b *Box, s env.ToolSpec, r request) (env.Tool, error) {
	switch r.tool {
	case "python":
		if k.python == nil {
			p, note, err := openPython(ctx, s, b.o.Staged)
			if err != nil {
				return nil, err
			}
			b.o.Note(note)
			k.python = p
		}
		return k.python, nil
	case "search":
		return newSearch(s.SearchURL, cmp.Or(s.TopK, 3), b.o.Pause), nil
	}
	m, err := openMCP(ctx, r.server, b.o)
	if err != nil {
		return nil, err
	}
	k.opened = append(k.opened, m)
	return m, nil
}

// openPython finds the interpreter and the sandbox.
func openPython(ctx context.Context, s env.ToolSpec, staged bool) (p *Python, note string, err error) {
	kind, err := sandbox.ParseKind(s.Sandbox)
	if err != nil {
		return nil, "", err
	}
	box, err := sandbox.Open(ctx, sandbox.Options{Kind: kind, Staged: staged})
	if err != nil {
		return nil, "", fmt.Errorf("tool: the Python tool runs code that a model wrote: %w", err)
	}
	program, err := findPython(ctx, cmp.Or(s.Python, "python3"))
	if err != nil {
		return nil, "", err
	}
	note = fmt.Sprintf("the model's code runs in Python %s (%s), sandbox: %v", program.Version, program.Executable, box)
	if kind == sandbox.None {
		note += "; it has all rights of this user"
	}
	timeout := time.Duration(s.Timeout * float64(time.Second))
	return newPython(box, program, cmp.Or(timeout, pythonTimeout), runtime.GOMAXPROCS(0)), note, nil
}
