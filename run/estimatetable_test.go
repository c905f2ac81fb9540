package run

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// tally counts the tokens that a run samples.
type tally struct {
	tinker.Service
	sampled atomic.Int64
}

func (c *tally) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	s, err := c.Service.SamplingClient(ctx, req)
	return tallied{s, c}, err
}

type tallied struct {
	tinker.SamplingClient
	tally *tally
}

func (c tallied) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	f, err := c.SamplingClient.Sample(ctx, req)
	if err != nil {
		return nil, err
	}
	r, err := f.Wait(ctx)
	for _, q := range r.Sequences {
		c.tally.sampled.Add(int64(len(q.Tokens)))
	}
	return f, err
}

// fewSteps is a short run that does not change the model, so that what it measures is what an estimate can know.
var fewSteps = []string{"algorithm.optimizer.lr=0", "buffer.total_steps=1", "trainer.total_steps=1",
	"trainer.save_interval=0"}

// sampledSteps is that of a run that samples.
var sampledSteps = and(fewSteps, "buffer.batch_size=8", "algorithm.repeat_times=8", "explorer.eval_on_startup=false",
	"explorer.eval_interval=100",
	"buffer.explorer_input.eval_tasksets=[]")

// longContext is the shipped model with room for conversations.
func longContext(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../examples/tiny/model")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	longer := strings.Replace(string(text), `"max_position_embeddings": 512`, `"max_position_embeddings": 2048`, 1)
	if err := os.WriteFile(path, []byte(longer), 0o644); err != nil || longer == string(text) {
		t.Fatalf("the context is not raised: %v", err)
	}
	return dir
}

// Means of an estimate are within a fifth of what a run of the shipped examples measures, and its bounds hold.
func TestEstimateHolds(t *testing.T) {
	if testing.Short() {
		t.Skip("runs six configurations")
	}
	t.Parallel()
	lake := filepath.Join(t.TempDir(), "lake.jsonl")
	rows := ""
	for range 24 {
		rows += `{"size": 2, "p": 0.8, "seed": 42}` + "\n" + `{"size": 3, "p": 0.9, "seed": 7}` + "\n"
	}
	if err := os.WriteFile(lake, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file string
		overrides  []string
		most       int // the bound of trained tokens is at most so many times the mean
		o          Options
	}{
		{"one turn with a system prompt", "tiny/gsm8k.yaml", sampledSteps, 3, onEngine()},
		{"one turn with the built-in system prompt", "tiny/gsm8k.yaml",
			and(sampledSteps, "buffer.explorer_input.taskset.format.system_prompt=null", "model.max_prompt_tokens=200"),
			3, options()},
		{"a conversation of several turns", "tiny/gsm8k.yaml", and(sampledSteps, "buffer.batch_size=4",
			"algorithm.repeat_times=4", "model.model_path="+longContext(t), "model.max_prompt_tokens=320",
			"model.max_response_tokens=300",
			"buffer.explorer_input.taskset.path="+lake,
			"buffer.explorer_input.taskset.default_workflow_type=frozen_lake_workflow",
			"buffer.explorer_input.taskset.workflow_args={agent_max_steps: 4}"), 4, onEngine()},
		{"an environment", "tiny/guess/workflow.yaml", sampledSteps, 4, onEngine()},
		{"sft", "tiny/algorithms/sft.yaml", fewSteps, 2, options()},
		{"dpo", "tiny/algorithms/dpo.yaml", fewSteps, 2, options()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := config.Load("../examples/"+tt.file, and(tt.overrides, "checkpoint_root_dir="+t.TempDir()),
				noEnv)
			if err != nil {
				t.Fatal(err)
			}
			b, err := reckon(t.Context(), cfg, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			counted, o := &tally{}, tt.o
			o.Wrap = func(s tinker.Service) tinker.Service { counted.Service = s; return counted }
			sum, err := Run(t.Context(), cfg, o)
			if err != nil {
				t.Fatal(err)
			}
			lines := sum.Lines
			trained, most := 0.0, 0.0
			for _, l := range lines {
				n := l.Metrics["perf/total_num_tokens"]
				trained, most = trained+n/float64(len(lines)), max(most, n)
			}
			sampled := float64(counted.sampled.Load()) / float64(len(lines))
			t.Logf("trained %d for %.0f, at most %d for %.0f; sampled %d for %.0f, at most %d; %d steps\n%s",
				b.Trained, trained, b.MaxTrained, most, b.Sampled, sampled, b.MaxSampled, len(lines), b)
			near(t, "trained", b.Trained, trained)
			if tt.o.Machine == nil { // others ask for the reference's logprobs alone, or answer without a mean
				near(t, "sampled", b.Sampled, sampled)
			}
			if most > float64(b.MaxTrained) || b.Samples > 0 && sampled > float64(b.MaxSampled) {
				t.Error("a bound does not hold")
			}
			if float64(b.MaxTrained) > float64(tt.most)*trained {
				t.Errorf("the bound %d says nothing of %.0f", b.MaxTrained, trained)
			}
			if len(lines) != b.Steps {
				t.Errorf("%d steps, estimated %d", len(lines), b.Steps)
			}
		})
	}
}

func near(t *testing.T, what string, estimate int64, real float64) {
	t.Helper()
	if math.Abs(float64(estimate)-real) > 0.2*real {
		t.Errorf("%s: estimated %d, and the run measured %.0f", what, estimate, real)
	}
}
