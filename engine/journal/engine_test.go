package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/enginetest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/tinkertest"
)

var ctx = context.Background()

const config = `{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","hidden_size":32,"intermediate_size":48,` +
	`"num_hidden_layers":2,
"num_attention_heads":2,"num_key_value_heads":1,"head_dim":16,"vocab_size":128,"max_position_embeddings":128,` +
	`"rms_norm_eps":1e-6,
"rope_theta":10000,"tie_word_embeddings":true,"torch_dtype":"bfloat16","hidden_act":"silu","attention_bias":false}`

// tinyModel writes a model folder with random weights.
func tinyModel(t testing.TB) string { return enginetest.Model(t, []byte(config), 8) }

// kernelPath is the best kernels'; their self-test runs once for all tests.
var kernelPath = sync.OnceValue(func() string {
	k, _ := kernel.Best(kernel.Native())
	return k.Path().String()
})

func open(t testing.TB, modelDir, dir string, fs disk.FS, o journal.Options) (*journal.Journal, error) {
	t.Helper()
	seed := uint64(1)
	e, err := engine.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"),
		Models: map[string]engine.Model{"tiny": {Dir: modelDir}}, Seed: &seed, FS: fs, Threads: 1,
		Kernel: kernelPath()})
	if err != nil {
		return nil, err
	}
	o.FS = fs
	j, err := journal.Open(ctx, filepath.Join(dir, "journal"), e, o)
	if err != nil {
		e.Close()
	}
	return j, err
}

func TestContract(t *testing.T) {
	dir := tinyModel(t)
	if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(`{"eos_token_id": [1, 2, 3, 4]}`),
		0o644); err != nil {
		t.Fatal(err)
	}
	tinkertest.Run(t, func(t *testing.T) tinker.Service {
		j, err := open(t, dir, t.TempDir(), disk.OS(), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}

// client is a training script that sends each request with its own number, so that it can repeat any of them.
type client struct {
	svc tinker.Service
	m   tinker.TrainingClient
}

const ops = 12

// do sends request seq and returns its result as text, bit for bit.
func (c *client) do(seq int64) (string, error) {
	switch {
	case seq == 9: // saved and loaded back behind a step
		return outcome(c.m.LoadState(ctx, tinker.LoadRequest{SeqID: seq, Path: c.statePath(), Optimizer: true}))
	case seq == 6:
		return outcome(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: seq, Name: "mid"}))
	case seq == 11:
		return outcome(c.m.SaveWeightsForSampler(ctx, tinker.SaveRequest{SeqID: seq, Name: "end"}))
	case seq%3 == 2:
		p := tinker.DefaultAdam()
		p.LearningRate = 1e-2
		return outcome(c.m.OptimStep(ctx, tinker.OptimStepRequest{SeqID: seq, Adam: p}))
	case seq == ops:
		return outcome(c.m.Forward(ctx, batch(seq)))
	}
	return outcome(c.m.ForwardBackward(ctx, batch(seq)))
}

func (c *client) statePath() string {
	info, err := c.m.Info(ctx)
	if err != nil {
		return ""
	}
	return tinker.Path{ModelID: info.ModelID, Kind: tinker.KindState, Name: "mid"}.String()
}

func batch(seq int64) tinker.ForwardRequest {
	tokens := []int32{3, 9, int32(seq), 40, 41, 7, 100}
	w := make([]float32, len(tokens)-1)
	for i := range w {
		w[i] = 1 - float32(i)/8
	}
	return tinker.ForwardRequest{SeqID: seq, LossFn: tinker.CrossEntropy, Data: []tinker.Datum{{
		ModelInput: tinker.Text(tokens[:len(tokens)-1]),
		LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.TokenInts(tokens[1:]),
			tinker.Weights: tinker.Floats(w)},
	}}}
}

func outcome[T any](f *tinker.Future[T], err error) (string, error) {
	if err != nil {
		return "", err
	}
	v, err := f.Wait(ctx)
	if err != nil {
		return "", err
	}
	switch v := any(v).(type) {
	case tinker.ForwardOutput:
		bits := []uint32{}
		for _, lp := range v.LossFnOutputs[0][tinker.Logprobs].Float {
			bits = append(bits, math.Float32bits(lp))
		}
		return fmt.Sprintf("logprobs %x loss %x", bits, math.Float64bits(v.Metrics["loss:sum"])), nil
	case tinker.OptimStepOutput:
		return fmt.Sprintf("norm %x", math.Float64bits(v.Metrics["grad_norm"])), nil
	}
	return fmt.Sprintf("%+v", v), nil
}

func begin(svc tinker.Service) (*client, error) {
	seed := int64(3)
	m, err := svc.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "s", BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 4, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	return &client{svc, m}, err
}

// script sends the requests from the first one without an answer; answers are kept across kills.
func script(svc tinker.Service, answers *[]string) error {
	c, err := begin(svc)
	if err != nil {
		return err
	}
	for seq := int64(len(*answers) + 1); seq <= ops; seq++ {
		a, err := c.do(seq)
		if err != nil {
			return err
		}
		*answers = append(*answers, a)
	}
	return nil
}

// TestEveryKill: the process is killed at each operation on the disk in turn, at every second one with a power loss; a
// draw decides at which. The next process has every request that was promised, and the script's answers are those of an
// unbroken run.
func TestEveryKill(t *testing.T) {
	odd := rand.IntN(2)
	t.Logf("power is lost at operations n with (n / stride + %d) %% 2 == 0", odd)
	dir := tinyModel(t)
	often := journal.Options{SnapshotAfter: time.Nanosecond, KeepResults: 4} // after every request
	for name, o := range map[string]journal.Options{"log": {}, "snapshots": often} {
		var want []string
		count := &disktest.Crash{FS: disk.OS()}
		j := mustOpen(t, dir, t.TempDir(), count, o)
		if err := errors.Join(script(j, &want), j.Close()); err != nil {
			t.Fatal(err)
		}
		stride := 1
		if testing.Short() {
			stride = 7
		}
		for at := 1; at <= count.Count(); at += stride {
			power := (at/stride+odd)%2 == 0
			t.Run(fmt.Sprintf("%s at %d, power loss %v", name, at, power), func(t *testing.T) {
				t.Parallel()
				kill := killed{modelDir: dir, options: o,
					crash: &disktest.Crash{FS: disk.OS(), At: at, PowerLoss: power}}
				kill.check(t, want)
			})
		}
	}
}

// killed is a process that is killed at one operation, and the process after it.
type killed struct {
	modelDir string
	options  journal.Options
	crash    *disktest.Crash
}

// check compares a client's answers from both with want, the answers of an unbroken run.
func (k killed) check(t *testing.T, want []string) {
	work := t.TempDir()
	var got []string
	j, err := open(t, k.modelDir, work, k.crash, k.options)
	if err == nil {
		err = script(j, &got)
		j.Close()
	}
	if err != nil && !errors.Is(err, disktest.ErrCrash) {
		t.Fatal(err)
	}
	if j, err = open(t, k.modelDir, work, &disktest.Crash{FS: disk.OS()}, k.options); err != nil { // does not crash
		t.Fatalf("start again: %v", err)
	}
	c := mustBegin(t, j)
	if info, err := c.m.Info(ctx); err != nil || info.NextSeqID < int64(len(got))+1 {
		t.Fatalf("%d requests were promised, the next free number is %d, %v", len(got), info.NextSeqID, err)
	}
	if n := len(got); n > 0 { // a repeated request returns the promised result
		if again, err := c.do(int64(n)); err != nil || again != want[n-1] {
			t.Errorf("request %d again: %s, %v; want %s", n, again, err, want[n-1])
		}
	}
	if err := errors.Join(script(j, &got), j.Close()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("answers differ from an unbroken run's\n got %q\nwant %q", got, want)
	}
}
