package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// An unnamed sampler that was in use before a restart is not counted as unused since it was made.
func TestUnnamedSamplersOutliveARestart(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	used := r.freeze(m, 1, 0)
	r.clock.Add(int64(7 * time.Hour))
	r.samples(r.promise("/asample", asample(used, 0, nil)))
	r.restart()
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	r.samples(r.promise("/asample", asample(used, 1, nil)))
	r.clock.Add(int64(7 * time.Hour))
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	if code, _, raw := r.send("POST", wire.Prefix+"/asample", asample(used, 2, nil)); code != http.StatusNotFound {
		t.Errorf("an unused sampler: %d %s", code, raw)
	}
}

// Samples whose sampler was deleted before a restart belong to nobody, and the tenants can still be seen.
func TestTenantsWithoutTheirSamplers(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	r.samples(r.promise("/asample", asample(r.freeze(m, 1, 0), 0, nil)))
	r.clock.Add(int64(7 * time.Hour))
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	r.restart()
	all := tenantsOf(r)
	if u := all[stats.Owner(TenantOf("tml-alice"))]; len(all) != 1 || u.TrainingRuns != 1 || u.Samplers != 0 {
		t.Errorf("the tenants are %+v", all)
	}
}

// Settings are forgotten a day after their checkpoint is gone, and kept as long as it is there.
func TestSettingsOfGoneCheckpoints(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	for i, body := range []map[string]any{{"path": "brief", "ttl_seconds": 60},
		{"path": "kept", "ttl_seconds": 30 * 86400}} {
		body["model_id"], body["seq_id"] = m, 1+i
		r.result(r.promise("/save_weights", body))
	}
	settings := func() (names []string) {
		r.server.state.Lock()
		defer r.server.state.Unlock()
		for path := range r.server.state.Marks {
			names = append(names, path[strings.LastIndex(path, "/")+1:])
		}
		return names
	}
	for i, want := range []int{2, 1} {
		r.clock.Add(int64([]time.Duration{time.Hour, 24 * time.Hour}[i]))
		for range 2 { // the checkpoint expires, then its settings
			if err := r.server.collect(); err != nil {
				t.Fatal(err)
			}
		}
		if got := settings(); len(got) != want {
			t.Errorf("round %d: there are settings of %q", i, got)
		}
	}
	if got := settings(); len(got) != 1 || got[0] != "kept" {
		t.Errorf("left are the settings of %q", got)
	}
}

// Settings outlast the time in which their checkpoint cannot be read.
func TestSettingsOfUnreadableCheckpoints(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "x", "seq_id": 1}))
	r.send("POST", wire.Prefix+"/training_runs/"+m+"/checkpoints/weights/x/publish", nil)
	found, err := filepath.Glob(filepath.Join(r.dir, "checkpoints", "*", "weights", "x", "trinity.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.Rename(found[0], found[0]+".aside"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(found[0], 0o755); err != nil { // reading it fails
		t.Fatal(err)
	}
	r.clock.Add(int64(25 * time.Hour))
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(found[0]), os.Rename(found[0]+".aside", found[0])); err != nil {
		t.Fatal(err)
	}
	k, err := r.server.saved.Find(fmt.Sprintf("tinker://%s/weights/x", m))
	if err != nil || !k.Note.Public {
		t.Errorf("readable again: %+v, %v", k.Note, err)
	}
}

// Concurrent changes of one checkpoint's settings do not undo each other.
func TestConcurrentSettings(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "x", "seq_id": 1}))
	at := "/training_runs/" + m + "/checkpoints/weights/x"
	for i := range 20 {
		var both sync.WaitGroup
		both.Go(func() { r.send("PUT", wire.Prefix+at+"/ttl", map[string]any{"ttl_seconds": 1000 + i}) })
		both.Go(func() { r.send("POST", wire.Prefix+at+"/publish", nil) })
		both.Wait()
		k, err := r.server.saved.Find(fmt.Sprintf("tinker://%s/weights/x", m))
		if err != nil || !k.Note.Public || k.Note.Expires == nil {
			t.Fatalf("round %d: %+v, %v", i, k.Note, err)
		}
		r.send("DELETE", wire.Prefix+at+"/publish", nil)
		r.send("PUT", wire.Prefix+at+"/ttl", map[string]any{"ttl_seconds": nil})
	}
}

// Copies of a training request that waits for an earlier one take no room, and their tokens are counted once.
func TestCopiesAreCountedOnce(t *testing.T) {
	r := newRig(t, Options{})
	m, tenant := r.model(r.session(), 0), TenantOf("tml-alice")
	for range 5 {
		r.promise("/forward_backward", batch(m, 2, false))
	}
	if all, own := r.server.capacity.Training.Now(tenant); all.Requests != 1 || own.Requests != 1 {
		t.Errorf("five copies are %+v, of the tenant %+v", all, own)
	}
	r.output(r.promise("/forward_backward", batch(m, 1, false)))
	r.output(r.promise("/forward_backward", batch(m, 2, false)))
	if u := use(r, stats.Owner(tenant), "forward_backward"); u.Tokens["forward_backward"] != 14 {
		t.Errorf("%d tokens were counted, want those of two requests: 14", u.Tokens["forward_backward"])
	}
}

// listed counts how often all checkpoints are listed, which reads a file for each.
type listed struct {
	checkpoint.Store
	times int
}

func (l *listed) Checkpoints(ctx context.Context) ([]tinker.Checkpoint, error) {
	l.times++
	return l.Store.Checkpoints(ctx)
}

// Checkpoints that expire are collected each minute, without listing all others.
func TestRetentionReadsWhatExpires(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	var last string
	for i := range 3 {
		r.result(r.promise("/save_weights", map[string]any{"model_id": m, "seq_id": 1 + i, "path": fmt.Sprint("x", i),
			"ttl_seconds": 60 * (1 + 2*i)}))
		last = fmt.Sprintf("tinker://%s/weights/x%d", m, i)
	}
	store := &listed{Store: r.server.saved.Store}
	r.server.saved.Store = store
	for range 4 {
		r.clock.Add(int64(time.Minute))
		if err := r.server.collect(); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(r.dir, "checkpoints", "*", "weights", "x*"))
	if err != nil || len(left) != 1 || store.times != 1 {
		t.Errorf("%d checkpoints are left after 4 minutes, all were listed %d times (%v)", len(left), store.times, err)
	}
	if _, err := r.server.saved.Find(last); err != nil {
		t.Error(err)
	}
}
