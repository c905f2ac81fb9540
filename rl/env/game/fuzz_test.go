package game

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// FuzzAction: whatever is said, a game answers, and its reward stays in range.
func FuzzAction(f *testing.F) {
	registry := newRegistry(f)
	var starts []env.Env
	for _, spec := range registry.Specs() {
		if !strings.HasSuffix(spec.ID, "-easy") {
			continue
		}
		e, err := registry.Make(spec.ID, nil)
		if err != nil {
			f.Fatal(err)
		}
		if _, err := e.Reset(3); err != nil {
			f.Fatal(err)
		}
		starts = append(starts, e)
	}
	for _, action := range []string{`\boxed{5}`, `\boxed{1 2}`, `\boxed{reveal 0 0}`, `\boxed{flag 4 4}`,
		`\boxed{1 1 1}`, `\boxed{A C}`, `\BOXED{Up}`,
		`\boxed{word}`, `\boxed{w}`, `\boxed{3 3 x}`, `\boxed{0 0 0 3}`, `\boxed{99999999999999999999}`, `\boxed{٣}`,
		`\boxed{a{b}c}`, `\boxed{`, ""} {
		f.Add(action)
	}
	f.Fuzz(func(t *testing.T, action string) {
		for _, start := range starts {
			e := start.Fork()
			for range 2 {
				tr, err := e.Step(action)
				if err != nil {
					t.Fatal(err)
				}
				if tr.Reward < -.2 || tr.Reward > 1 {
					t.Fatalf("%q gets %v", action, tr.Reward)
				}
				if tr.Done() {
					break
				}
			}
		}
	})
}
