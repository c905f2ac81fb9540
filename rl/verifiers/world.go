package verifiers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/selfdriven"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// World is the environments of verifiers: their tasks, what carries their rollouts out, and, for a player, themselves
// as env.Env. It implements outside.World.
type World struct {
	site    outside.Site
	log     func(outside.Line)
	ctx     context.Context // without an end
	servers *Servers

	mu      sync.Mutex
	sources map[string]*selfdriven.Source // by id
}

const name = "verifiers" // of the world, and of the workflow's By

// Claims implements outside.World.
func (w *World) Claims(n outside.Named) bool {
	return slices.ContainsFunc(n.Workflows, workflow.Carried{By: name}.Named) || slices.ContainsFunc(n.Paths, Is) ||
		slices.ContainsFunc(n.Environments, Is)
}

// Open implements outside.World. Servers are started by the first rollout.
func (w *World) Open(ctx context.Context, _ outside.Named, s outside.Site) (outside.Parts, error) {
	w.site, w.ctx, w.sources = s, context.WithoutCancel(ctx), map[string]*selfdriven.Source{}
	w.log = s.Log(name)
	w.servers = New(Options{Executable: s.Python, Path: s.Imports,
		Log: func(line string) { w.log(outside.Line{Text: line}) }})
	p := outside.Parts{Carriers: map[string]workflow.Carrier{name: w.servers},
		Tasks: map[string]outside.Tasks{Prefix: w.servers.Rows}}
	if s.Player != nil {
		p.Environments = map[string]env.Finder{Prefix: w.spec}
	}
	return p, nil
}

// Close implements outside.World.
func (w *World) Close() error {
	var errs []error
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sources {
		errs = append(errs, s.Close())
	}
	if w.servers != nil {
		errs = append(errs, w.servers.Close())
	}
	return errors.Join(errs...)
}

// spec implements env.Finder.
func (w *World) spec(id string) (env.Spec, error) {
	w.mu.Lock()
	s := w.sources[id]
	if s == nil {
		var err error
		if s, err = w.open(id); err != nil {
			w.mu.Unlock()
			return env.Spec{}, fmt.Errorf("env: %s: %w", id, err)
		}
		w.sources[id] = s
	}
	w.mu.Unlock()
	return s.Spec()
}

// open reads the tasks of an id.
func (w *World) open(id string) (*selfdriven.Source, error) {
	p, err := Parse(id)
	if err != nil {
		return nil, err
	}
	carrying, err := w.servers.Check(p.Args)
	if err != nil {
		return nil, err
	}
	tasks, err := w.servers.Rows(w.ctx, p.Tasks, p.Args)
	if err != nil {
		return nil, err
	}
	player, err := w.site.Player()
	if err != nil {
		return nil, err
	}
	return selfdriven.New(w.ctx, selfdriven.Options{ID: id, Carrying: carrying, Tasks: tasks,
		Rollouts: player.Rollouts, URL: player.URL, Close: player.Close, Model: player.Name,
		Params: player.Params, Random: p.Random, Note: w.site.Note,
		Failed: func(err error) {
			w.log(outside.Line{Level: "error", Text: "an episode failed: " + err.Error()})
		}}), nil
}
