//go:build unix

package game

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// BenchmarkStep replays recorded episodes; bench/gem-python times upstream on the same ones. Only steps are
// timed, with all that the collector does meanwhile.
func BenchmarkStep(b *testing.B) {
	registry := newRegistry(b)
	byID := map[string][]played{}
	var ids []string
	for _, tr := range loadTraces(b, traces()) {
		if byID[tr.Env] == nil {
			ids = append(ids, tr.Env)
		}
		p := played{seed: tr.Seed}
		for _, s := range tr.Steps {
			p.actions = append(p.actions, strings.Clone(s.Action))
		}
		byID[tr.Env] = append(byID[tr.Env], p)
	}
	for _, id := range ids {
		b.Run(id, func(b *testing.B) {
			e, err := registry.Make(id, nil)
			if err != nil {
				b.Fatal(err)
			}
			var starts []*Game
			for _, tr := range byID[id] {
				if _, err := e.Reset(tr.seed); err != nil {
					b.Fatal(err)
				}
				starts = append(starts, e.Fork().(*Game))
			}
			const batch = 128 // episodes between two looks at the clock
			games := make([]*Game, batch)
			for i := range games {
				games[i] = starts[i%len(starts)].Fork().(*Game)
			}
			steps, elapsed := 0, time.Duration(0)
			for b.Loop() {
				for i, g := range games {
					g.rewind(starts[i%len(starts)])
				}
				start := cpuTime(b)
				for i, e := range games {
					steps += replayActions(b, e, byID[id][i%len(starts)].actions)
				}
				elapsed += cpuTime(b) - start
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(elapsed.Nanoseconds())/float64(steps), "ns/step")
		})
	}
}

// played is the part of a recorded episode that the benchmark keeps: the less it keeps, the less the collector has to
// do for it.
type played struct {
	seed    uint64
	actions []string
}

// rewind brings a game back to the start of an episode with as little garbage as possible: what beginning one costs is
// BenchmarkReset's matter.
func (g *Game) rewind(start *Game) {
	g.rules, g.random = start.rules.fork(), start.random
	g.turn, g.limit, g.playing, g.shown = start.turn, start.limit, start.playing, start.shown
}

func replayActions(b *testing.B, e *Game, actions []string) int {
	for i, action := range actions {
		t, err := e.Step(action)
		if err != nil {
			b.Fatal(err)
		}
		if t.Done() {
			return i + 1
		}
	}
	return len(actions)
}

// cpuTime is the time that all threads of the process worked, the collector's included: the machine may be busy with
// other things.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkReset begins the episodes of seeds 0 to 15.
func BenchmarkReset(b *testing.B) {
	registry := newRegistry(b)
	for _, spec := range registry.Specs() {
		if spec.Note == old {
			continue
		}
		b.Run(spec.ID, func(b *testing.B) {
			e, err := registry.Make(spec.ID, nil)
			if err != nil {
				b.Fatal(err)
			}
			begin, seed := cpuTime(b), uint64(0)
			for ; b.Loop(); seed++ {
				if _, err := e.Reset(seed % 16); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64((cpuTime(b)-begin).Nanoseconds())/float64(seed), "ns/reset")
		})
	}
}

// TestMemory: a thousand environments of every kind, each in an episode, take less than 200 MiB.
func TestMemory(t *testing.T) {
	registry := newRegistry(t)
	before := heap()
	var all []env.Env
	for len(all) < 1000 {
		for _, spec := range registry.Specs() {
			e, err := registry.Make(spec.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Reset(uint64(len(all) % 8)); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	used := float64(heap()-before) / (1 << 20)
	t.Logf("%d environments: %.1f MiB", len(all), used)
	if used > 200 {
		t.Errorf("%d environments take %.1f MiB, want at most 200", len(all), used)
	}
	runtime.KeepAlive(all)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
