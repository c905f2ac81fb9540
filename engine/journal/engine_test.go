package journal_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/enginetest"
	"github.com/seed-d9ad8ee0/trinity/engine/fake"
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

// open opens a journal around an engine.
func open(t testing.TB, modelDir, dir string, fs disk.FS, o journal.Options) (*journal.Journal, error) {
	t.Helper()
	seed := uint64(1)
	e, err := engine.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"),
		Models: map[string]engine.Model{"tiny": {Dir: modelDir}}, Seed: &seed, FS: fs, Threads: 1,
		Kernel: kernelPath()})
	if err != nil {
		return nil, err
	}
	return around(e, dir, fs, o)
}

// openFake opens a journal around a machine without arithmetic.
func openFake(modelDir, dir string, fs disk.FS, o journal.Options) (*journal.Journal, error) {
	m, err := fake.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"),
		Models: map[string]engine.Model{"tiny": {Dir: modelDir}}, FS: fs})
	if err != nil {
		return nil, err
	}
	return around(m, dir, fs, o)
}

func around(m journal.Machine, dir string, fs disk.FS, o journal.Options) (*journal.Journal, error) {
	o.FS = fs
	j, err := journal.Open(ctx, filepath.Join(dir, "journal"), m, o)
	if err != nil {
		m.Close()
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

// TestEveryKill: a process is stopped at each operation on the disk. The next one has every request that was promised,
// and the script's answers are those of an unbroken run.
func TestEveryKill(t *testing.T) {
	t.Parallel()
	dir := tinyModel(t)
	often := journal.Options{SnapshotAfter: time.Nanosecond, KeepResults: 4} // after every request
	for name, o := range map[string]journal.Options{"log": {}, "snapshots": often} {
		var want []string
		j, err := openFake(dir, disktest.TempDir(t), disk.OS(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(script(j, &want), j.Close()); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
				t.Parallel()
				var got []string
				return func(fs disk.FS) error { return life(t, dir, work, fs, o, &got, want) }, func() {
					if !slices.Equal(got, want) {
						t.Errorf("answers differ from an unbroken run's\n got %q\nwant %q", got, want)
					}
					for _, saved := range []string{"weights/mid", "sampler_weights/end"} {
						path := "tinker://s:train:0/" + saved
						if _, err := engine.CheckpointFolder(filepath.Join(work, "checkpoints"), path); err != nil {
							t.Error(err)
						}
					}
				}
			})
		})
	}
}

// life is a process that a client sends the rest of the script; got has the answers so far. want has all.
func life(t *testing.T, modelDir, work string, fs disk.FS, o journal.Options, got *[]string, want []string) error {
	t.Helper()
	j, err := openFake(modelDir, work, fs, o)
	if err != nil {
		return err
	}
	n := len(*got)
	check := func() error {
		c, err := begin(j)
		if n == 0 || err != nil {
			return err
		}
		if info, err := c.m.Info(ctx); err != nil || info.NextSeqID < int64(n)+1 {
			return fmt.Errorf("%d requests were promised, the next free number is %d, %w", n, info.NextSeqID, err)
		}
		again, err := c.do(int64(n)) // a repeated request returns the promised result
		if err == nil && again != want[n-1] {
			err = fmt.Errorf("request %d again: %s; want %s", n, again, want[n-1])
		}
		return err
	}
	if err = check(); err == nil {
		err = script(j, got)
	}
	return errors.Join(err, j.Close())
}
