package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch/dispatchtest"
	"github.com/seed-d9ad8ee0/trinity/engine/enginetest"
	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const vocab = 97

// record trains one step of an adapter and of full parameters, and returns the pool that noted their versions.
func record(t *testing.T) *recorder {
	t.Helper()
	c, err := json.Marshal(map[string]any{"architectures": []string{"Qwen3ForCausalLM"}, "vocab_size": vocab,
		"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
		"intermediate_size": 48, "max_position_embeddings": 160, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
		"tie_word_embeddings": true, "torch_dtype": "bfloat16", "eos_token_id": 0, "hidden_act": "silu"})
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{Dir: t.TempDir()}
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Pool: rec, PoolOnly: true,
		Models: map[string]engine.Model{"tiny": {Dir: enginetest.Model(t, c, 8)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i, rank := range []int{4, 0} {
		seed := int64(1)
		m, err := e.CreateModel(t.Context(), tinker.CreateModelRequest{SessionID: "s", ModelSeqID: int64(i),
			BaseModel: "tiny", LoRA: tinker.LoRA{Rank: rank, Seed: &seed, TrainAttn: true, TrainMLP: true,
				TrainUnembed: true}})
		if err != nil {
			t.Fatal(err)
		}
		step(t, m, false)
		step(t, m, true)
	}
	return rec
}

// step has the gradient of one datum computed, after an optimizer step if that is asked for.
func step(t *testing.T, m tinker.TrainingClient, after bool) {
	t.Helper()
	if after {
		p := tinker.DefaultAdam()
		p.LearningRate = 1e-2
		o, err := m.OptimStep(t.Context(), tinker.OptimStepRequest{Adam: p})
		if err == nil {
			_, err = o.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := m.ForwardBackward(t.Context(), tinker.ForwardRequest{LossFn: tinker.CrossEntropy,
		Data: []tinker.Datum{{ModelInput: tinker.Text([]int32{1, 2, 3}), LossFnInputs: map[string]tinker.Tensor{
			tinker.TargetTokens: tinker.TokenInts([]int32{2, 3, 4})}}}})
	if err == nil {
		_, err = f.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// subject is the versions that were noted: of a new adapter, a trained one, and full parameters.
func subject(t *testing.T, rec *recorder, e executor.Executor) contract {
	versions, errs := rec.noted()
	if len(versions) != 4 || len(errs) != 0 {
		t.Fatalf("%d versions were noted, %v", len(versions), errs)
	}
	return contract{Executor: e, Vocab: vocab, Versions: map[string]executor.Version{
		"adapter": versions[1], "full": versions[3]}}
}

func newWorker(t *testing.T, o Options) *Worker {
	t.Helper()
	if o.Cache == "" {
		o.Cache = t.TempDir()
	}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// The local executor keeps the contract, and so does a pool over workers, whose calls travel as bytes.
func TestContract(t *testing.T) {
	rec := record(t)
	w := newWorker(t, Options{})
	t.Run("local", func(t *testing.T) {
		versions, _ := rec.noted()
		l, err := w.local(versions[0].Numerics)
		if err != nil {
			t.Fatal(err)
		}
		have := func(hash string) (string, error) { return rec.Path(t.Context(), hash) }
		subject(t, rec, l.With(source{&w.models, have})).run(t)
	})
	t.Run("pool", func(t *testing.T) {
		carrier := dispatchtest.New(t, w, newWorker(t, Options{MaxMemory: 16 << 20}))
		offer(t, carrier, rec)
		subject(t, rec, dispatch.New(carrier, 1)).run(t)
	})
}

// offer offers all blobs.
func offer(t *testing.T, carrier *dispatchtest.Carrier, rec *recorder) {
	entries, err := os.ReadDir(rec.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		open := func() (io.ReadCloser, error) { return os.Open(filepath.Join(rec.Dir, e.Name())) }
		carrier.Offer(e.Name(), 0, open)
	}
}

// A base model comes from the cache, else from the hub, else from the head; what has another hash is not used.
func TestBaseModels(t *testing.T) {
	rec := record(t)
	versions, _ := rec.noted()
	v := versions[1]
	manifest, err := os.ReadFile(filepath.Join(rec.Dir, v.Manifest))
	if err != nil {
		t.Fatal(err)
	}
	list, err := executor.ParseManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	hub := t.TempDir()
	for _, f := range list.Files {
		raw, err := os.ReadFile(filepath.Join(rec.Dir, f.Hash))
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != "config.json" {
			raw[len(raw)-1]++ // another revision
		}
		if err := os.WriteFile(filepath.Join(hub, f.Name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	have := func(hash string) (string, error) { asked = append(asked, hash); return rec.Path(t.Context(), hash) }
	list.Repo = "owner/tiny"
	named, err := list.Encode()
	if err != nil {
		t.Fatal(err)
	}
	v.Manifest = executor.HashOf(named)
	if err := os.WriteFile(filepath.Join(rec.Dir, v.Manifest), named, 0o600); err != nil {
		t.Fatal(err)
	}
	m := models{dir: t.TempDir(), limit: 1 << 30, log: newWorker(t, Options{}).o.Log,
		hub: func(_ context.Context, repo, _ string) (string, error) {
			if repo != "owner/tiny" {
				return "", errors.New("no such model")
			}
			return hub, nil
		}}
	dir, err := m.folder(t.Context(), v, have)
	if err != nil {
		t.Fatal(err)
	}
	if len(asked) != 2 || asked[0] != v.Manifest { // and the weights, which the hub has otherwise
		t.Errorf("the head was asked for %v", asked)
	}
	for _, f := range list.Files {
		raw, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil || executor.HashOf(raw) != f.Hash {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if again, err := m.folder(t.Context(), v, have); err != nil || again != dir || len(asked) != 2 {
		t.Errorf("a second time: %s, %v, asked for %v", again, err, asked)
	}
	m.limit = 10
	v.Manifest = versions[1].Manifest
	if _, err := m.folder(t.Context(), v, have); err == nil {
		t.Error("a model larger than the cache was kept")
	}
}

// Damaged tasks are errors.
func TestDamagedTask(t *testing.T) {
	w := newWorker(t, Options{})
	for _, payload := range [][]byte{nil, []byte("TRNT1"), []byte("something else")} {
		if _, err := w.Compute(t.Context(), payload, nil); err == nil {
			t.Errorf("%q was computed", payload)
		}
	}
}
