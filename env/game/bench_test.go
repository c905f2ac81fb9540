package game

import (
	"runtime"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/rng"
)

// BenchmarkStep plays sampled actions and begins another episode at the end; only steps are timed.
func BenchmarkStep(b *testing.B) {
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
			player := rng.New(1).Stream("player")
			over := true
			b.ReportAllocs()
			for seed := uint64(0); b.Loop(); {
				b.StopTimer()
				if over {
					seed++
					if _, err := e.Reset(seed % 16); err != nil {
						b.Fatal(err)
					}
				}
				a := e.SampleAction(&player)
				b.StartTimer()
				t, err := e.Step(a)
				if err != nil {
					b.Fatal(err)
				}
				over = t.Done()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// BenchmarkReset begins the episodes of seeds 0, 1, 2 …
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
			for seed := uint64(0); b.Loop(); seed++ {
				if _, err := e.Reset(seed); err != nil {
					b.Fatal(err)
				}
			}
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
