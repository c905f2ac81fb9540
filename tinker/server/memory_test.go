package server

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// A session whose client has been silent for a day keeps its run and loses its samplers; a session without a run is
// deleted.
func TestSilentSessions(t *testing.T) {
	r := newRig(t, Options{})
	trains, samples, alive := r.session(), r.session(), r.session()
	m := r.model(trains, 0)
	old := r.sampler(trains, 0, map[string]any{"base_model": "tiny"})
	r.sampler(samples, 0, map[string]any{"base_model": "tiny"})
	used := r.sampler(alive, 0, map[string]any{"base_model": "tiny"})
	r.clock.Add(int64(25 * time.Hour))
	r.post("/session_heartbeat", wire.Heartbeat{SessionID: alive, Type: "session_heartbeat"}, nil)
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/sessions/" + trains: 200, "/sessions/" + samples: 404,
		"/sessions/" + alive:  200,
		"/training_runs/" + m: 200, "/samplers/" + old: 404, "/samplers/" + used: 200} {
		if code, _, raw := r.send("GET", wire.Prefix+path, nil); code != want {
			t.Errorf("%s after a day: %d %s, want %d", path, code, raw, want)
		}
	}
	if code, _, _ := r.send("POST", wire.Prefix+"/session_heartbeat",
		wire.Heartbeat{SessionID: samples}); code != http.StatusNotFound {
		t.Errorf("heartbeat of a session that is gone: %d", code)
	}
}

// Memory after thousands of requests is no larger than after hundreds.
func TestMemoryStaysFlat(t *testing.T) {
	n := 700
	if testing.Short() {
		n = 300
	}
	r := &rig{t: t, modelDir: tinyModel(t), dir: t.TempDir(), fs: disk.OS(), key: "tml-alice",
		log: journal.Options{SnapshotAfter: 20 * time.Millisecond, KeepResults: 16}}
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	defer r.stop()
	m, seq := r.model(r.session(), 0), int64(0)
	round := func(n int) uint64 {
		for range n {
			session := r.session()
			sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
			r.samples(r.promise("/asample", asample(sampler, 0, nil)))
			seq++
			r.output(r.promise("/forward_backward", batch(m, seq, true)))
		}
		r.clock.Add(int64(25 * time.Hour))
		for range 2 { // the samples first, and then what they held
			if err := r.server.collect(); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.GC()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		return mem.HeapAlloc
	}
	before := round(200)
	after := round(n)
	t.Logf("heap %d KiB after 200 rounds, %d KiB after %d more", before>>10, after>>10, n)
	if after > before+before/2+1<<20 {
		t.Errorf("heap grew from %d KiB to %d KiB in %d rounds", before>>10, after>>10, n)
	}
}
