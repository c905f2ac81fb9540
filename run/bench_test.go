package run

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// few is an evaluation of some problems.
const few = "buffer.explorer_input.eval_tasksets=[{name: few, path: run/testdata/few.jsonl, repeat_times: 2, " +
	"default_workflow_type: math_workflow, format: {prompt_key: question, response_key: answer}}]"

// After a run mode bench evaluates the model and each saved state: where the run evaluated too, with the same figures.
// It leaves the job as it is.
func TestBenchEvaluatesEverySavedState(t *testing.T) {
	t.Parallel()
	remote := options()
	remote.LookupEnv = withKey
	for name, o := range map[string]Options{"local": options(), "server": remote} {
		if testing.Short() && name == "local" {
			continue // the same goroutines and fewer
		}
		dir := t.TempDir()
		args := and(tiny, few, "explorer.eval_on_startup=true", "algorithm.optimizer.lr=5e-3",
			"algorithm.optimizer.lr_warmup_steps=0")
		if name == "server" {
			args = append(args, "model.tinker.base_url="+serve(t))
		}
		trained := runs(t, load(t, dir, args...), o)
		job := filepath.Join(dir, "trinity-tiny", "gsm8k")
		before, err := os.ReadFile(filepath.Join(job, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			lines := runs(t, load(t, dir, and(args, "mode=bench", "continue_from_checkpoint=false")...), o)
			if len(lines) != 4 {
				t.Fatalf("%s: %d lines, want the model and three states", name, len(lines))
			}
			for i, at := range map[int]int{0: 0, 3: 3} {
				for _, metric := range []string{"few/reward/mean@2", "few/accuracy/std@2"} {
					if got, want := lines[i].Metrics["bench/"+metric],
						trained[at].Metrics["eval/"+metric]; got != want {
						t.Errorf("%s: step %d has %s %v, the run had %v", name, at, metric, got, want)
					}
				}
			}
		}
		last := runs(t, load(t, dir, and(args, "mode=bench", "explorer.bench_on_latest_checkpoint=true",
			"monitor.detailed_stats=true")...), o)
		if len(last) != 1 || last[0].Step != 3 {
			t.Errorf("%s: the latest alone: %d lines", name, len(last))
		} else if _, ok := last[0].Metrics["bench/few/accuracy/mean@2/max"]; !ok {
			t.Errorf("%s: no detailed statistics in %v", name, last[0].Metrics)
		}
		if after, err := os.ReadFile(filepath.Join(job, "metrics.jsonl")); err != nil ||
			string(after) != string(before) {
			t.Errorf("%s: metrics.jsonl has changed, %v", name, err)
		}
	}
	_, err := Run(t.Context(),
		load(t, t.TempDir(), and(tiny, few, "mode=bench", "explorer.bench_on_latest_checkpoint=true")...), options())
	if err == nil || !strings.Contains(err.Error(), "has no saved state") {
		t.Errorf("nothing is saved: %v", err)
	}
}

// An evaluation that is stopped goes on with the tasks that it has not finished, and comes to the same figures.
func TestBenchGoesOn(t *testing.T) {
	t.Parallel()
	var graded, most atomic.Int64
	var once sync.Once
	reached, stop, dir := make(chan struct{}), make(chan struct{}), t.TempDir()
	heard := &hearing{stopped: make(chan struct{})}
	o := options()
	o.Plugins.Rewards = map[string]reward.Func{"counted": func(x reward.Sample) (reward.Scores, error) {
		if n := graded.Add(1); n >= most.Load() && most.Load() > 0 {
			once.Do(func() { close(reached) })
			<-heard.stopped
		}
		return reward.Math(x)
	}}
	args := and(tiny, strings.Replace(few, "default_workflow_type", "default_reward_fn_type: counted, "+
		"default_workflow_type", 1), "mode=bench")
	whole := runs(t, load(t, t.TempDir(), args...), o)
	all := graded.Swap(0)
	most.Store(all - 2) // some tasks are complete then
	cut := o
	cut.Stop = stop
	cut.Wrap = func(s tinker.Service) tinker.Service { heard.Service = s; return heard }
	ended := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), load(t, dir, args...), cut)
		ended <- err
	}()
	<-reached
	eventually(t, "a finished task is on the disk", func() bool { return keepsEvaluations(dir) })
	close(stop)
	if err := <-ended; !errors.Is(err, ErrInterrupted) {
		t.Fatalf("a stopped evaluation: %v", err)
	}
	most.Store(0)
	graded.Store(0)
	rest := runs(t, load(t, dir, args...), o)
	if n := graded.Load(); n >= all || n == 0 {
		t.Errorf("of %d answers %d were graded after the stop", all, n)
	}
	same(t, "an evaluation that was stopped", timeless(rest), timeless(whole))
	graded.Store(0)
	if runs(t, load(t, dir, args...), o); graded.Load() != all {
		t.Errorf("an evaluation after one that was complete graded %d answers, want %d", graded.Load(), all)
	}
}

// hearing closes a channel when the run that uses the service has heard that it is to stop.
type hearing struct {
	tinker.Service
	once    sync.Once
	stopped chan struct{}
}

func (h *hearing) SamplingClient(ctx context.Context, r tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	h.once.Do(func() { context.AfterFunc(ctx, func() { close(h.stopped) }) })
	return h.Service.SamplingClient(ctx, r)
}

// keepsEvaluations reports whether a finished task is on the disk.
func keepsEvaluations(dir string) bool {
	logs, _ := filepath.Glob(filepath.Join(dir, "trinity-tiny", "gsm8k", "evaluating", "*", "*.log"))
	return slices.ContainsFunc(logs, func(path string) bool {
		st, err := os.Stat(path)
		return err == nil && st.Size() > 100 // its header has fewer bytes, a task more
	})
}

// A model behind OpenAI's interface is evaluated as one of a folder is.
func TestExternalModel(t *testing.T) {
	t.Parallel()
	var bodies []map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/chat/completions" ||
			r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "what is this", http.StatusBadRequest)
			return
		}
		bodies = append(bodies, body)
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{
			map[string]any{"message": map[string]any{"role": "assistant",
				"content": "<think>é</think><answer>5</answer>"}, "finish_reason": "stop"},
			map[string]any{"message": map[string]any{"role": "assistant", "content": "no idea"},
				"finish_reason": "length"},
		}})
	}))
	defer server.Close()
	o := onEngine()
	o.LookupEnv = func(name string) (string, bool) {
		v, ok := map[string]string{"HERE": server.URL + "/v1/", "KEY": "secret"}[name]
		return v, ok
	}
	data := filepath.Join(t.TempDir(), "one.jsonl")
	if err := os.WriteFile(data, []byte(`{"question": "2+3?", "answer": "#### 5"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"mode=bench", "model.model_path=\"\"",
		"model.external_model={enable: true, model_name: far, base_url_env: HERE, api_key_env: KEY}",
		"model.temperature=0.5",
		strings.Replace(few, "run/testdata/few.jsonl", data, 1)}
	lines := runs(t, load(t, t.TempDir(), args...), o)
	if len(lines) != 1 || lines[0].Metrics["bench/few/accuracy/mean@2"] != 0.5 {
		t.Errorf("%d lines: %v, want one answer of two right", len(lines), lines)
	}
	if len(bodies) != 1 || bodies[0]["model"] != "far" || bodies[0]["n"] != 2.0 || bodies[0]["temperature"] != 0.5 ||
		!strings.Contains(string(must(json.Marshal(bodies[0]["messages"]))), "2+3?") {
		t.Errorf("asked %v", bodies)
	}
	o.LookupEnv = nil
	if _, err := Run(t.Context(), load(t, t.TempDir(), args...), o); err == nil ||
		!strings.Contains(err.Error(), "environment variable HERE") {
		t.Errorf("without an address: %v", err)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
