package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// A damaged checkpoint affects only its owner: lists leave it out, expired checkpoints are still deleted, and its
// owner can delete it.
func TestOneDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{"no JSON": "{", "empty": "", "another format": `{"format":99}`} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			bob := r.as("tml-bob")
			m, other := r.model(r.session(), 0), bob.model(bob.session(), 0)
			r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "a", "seq_id": 1}))
			r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "b", "seq_id": 2}))
			bob.result(bob.promise("/save_weights", map[string]any{"model_id": other, "path": "c", "seq_id": 1,
				"ttl_seconds": 60}))
			bob.result(bob.promise("/save_weights", map[string]any{"model_id": other, "path": "d", "seq_id": 2}))
			found, err := filepath.Glob(filepath.Join(r.dir, "checkpoints", "*", "weights", "a", "trinity.json"))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			if err := os.WriteFile(found[0], []byte(damage), 0o644); err != nil {
				t.Fatal(err)
			}
			count := func(r *rig, want int) {
				t.Helper()
				var list wire.Checkpoints
				r.get("/checkpoints", &list)
				if len(list.Checkpoints) != want {
					t.Errorf("%d checkpoints, want %d", len(list.Checkpoints), want)
				}
				var runs wire.TrainingRuns
				if r.get("/training_runs", &runs); len(runs.TrainingRuns) != 1 {
					t.Errorf("%d runs", len(runs.TrainingRuns))
				}
			}
			count(r, 1)
			count(bob, 2)
			r.clock.Store(int64(2 * time.Minute))
			if err := r.server.collect(); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(filepath.Join(r.dir, "checkpoints", "*", "weights", "c")); err != nil ||
				len(left) != 0 {
				t.Errorf("what has expired is still there: %v, %v", left, err)
			}
			path := wire.Prefix + "/training_runs/" + m + "/checkpoints/weights/a"
			if code, _, raw := bob.send("DELETE", path, nil); code != http.StatusNotFound {
				t.Errorf("another tenant deletes it: %d %s", code, raw)
			}
			if code, _, raw := r.send("DELETE", path, nil); code != http.StatusOK {
				t.Errorf("its owner deletes it: %d %s", code, raw)
			}
		})
	}
}

// A base model that is missing at a start stops only its own runs, with a reason. When it is back they continue with
// the same bits.
func TestOneBaseModelMissing(t *testing.T) {
	second, missing := tinyModel(t), false
	r := newTunedRig(t, Options{GapAfter: time.Hour}, func(o *engine.Options) {
		o.SkipMissing = true
		if !missing {
			o.Models["second"] = engine.Model{Dir: second}
		}
	})
	create := func(seq int64) string {
		body := createModel(r.session(), seq)
		body["base_model"] = "second"
		return r.result(r.promise("/create_model", body))["model_id"].(string)
	}
	tiny, idle, waiting := r.model(r.session(), 0), create(1), create(2)
	want := bits(r.output(r.promise("/forward_backward", batch(idle, 1, false))))
	r.output(r.promise("/forward_backward", batch(waiting, 1, false)))
	r.result(r.promise("/optim_step", step(waiting, 2)))
	kept := r.promise("/forward_backward", batch(waiting, 4, false)) // the third is missing
	saved := r.result(r.promise("/save_weights", map[string]any{"model_id": idle, "path": "s",
		"seq_id": 2}))["path"].(string)
	sampler := r.sampler(r.session(), 0, map[string]any{"base_model": "second"})

	missing = true
	r.restart()
	r.output(r.promise("/forward_backward", batch(tiny, 1, false)))
	for _, m := range []string{idle, waiting} {
		for path, body := range map[string]any{"/forward_backward": batch(m, 3, false), "/optim_step": step(m, 3)} {
			code, _, raw := r.send("POST", wire.Prefix+path, body)
			if code != http.StatusBadRequest || !strings.Contains(string(raw), `base model \"second\" is not served`) {
				t.Errorf("%s of a run without its base model: %d %s", path, code, raw)
			}
		}
	}
	if text, _ := r.failure(kept); !strings.Contains(text, "cannot be used now") {
		t.Errorf("a request that waits: %s", text)
	}
	load := map[string]any{"session_id": r.session(), "model_seq_id": 0, "path": saved, "optimizer": true}
	if code, _, raw := r.send("POST", wire.Prefix+"/load_weights", load); code != http.StatusBadRequest ||
		!strings.Contains(string(raw), "second") {
		t.Errorf("a model from its checkpoint: %d %s", code, raw)
	}
	if text, _ := r.failure(r.promise("/asample", asample(sampler, 0, nil))); !strings.Contains(text, "second") {
		t.Errorf("a sample of it: %s", text)
	}

	r.restart() // missing still
	missing = false
	r.restart()
	if got := bits(r.output(r.server.tickets.Ticket(ticket.Train, idle, 1))); got != want {
		t.Error("a result from before is another")
	}
	r.output(r.promise("/forward_backward", batch(idle, 3, false)))
	r.output(r.promise("/forward_backward", batch(waiting, 3, false)))
	r.output(kept)
	r.samples(r.promise("/asample", asample(sampler, 1, nil)))
}
