package openenv

import (
	"context"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
)

// World is the environments on OpenEnv servers. It implements outside.World. Their episodes with all messages are
// recorded in rollouts/openenv.jsonl.
type World struct{ source *Source }

// Claims implements outside.World.
func (w *World) Claims(n outside.Named) bool { return slices.ContainsFunc(n.Environments, Is) }

// Open implements outside.World.
func (w *World) Open(ctx context.Context, _ outside.Named, s outside.Site) (outside.Parts, error) {
	const name = "openenv"
	record, log := s.Record(name), s.Log(name)
	w.source = New(context.WithoutCancel(ctx), Options{
		Python: s.Python, Find: s.Find, LookupEnv: s.LookupEnv, Note: s.Note,
		Record: func(e *Episode) { record(e) },
		Output: func(line string) { log(outside.Line{Text: line}) },
		Failed: func(err error) {
			log(outside.Line{Level: "error", Text: "an episode failed: " + err.Error()})
		}})
	return outside.Parts{Environments: map[string]env.Finder{Prefix: w.source.Spec}}, nil
}

// Close implements outside.World.
func (w *World) Close() error {
	if w.source == nil {
		return nil
	}
	return w.source.Close()
}
