package engine

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/enginetest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

const (
	baseName = "tiny"
	vocab    = 139
	context_ = 160
)

// writeModel makes a model folder of random weights, larger than usual so that its distribution is far from flat.
func writeModel(t testing.TB, bf16, tied bool) string {
	return writeShape(t, bf16, tied, map[string]any{"vocab_size": vocab, "hidden_size": 32, "num_hidden_layers": 2,
		"num_attention_heads": 4,
		"num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 48, "max_position_embeddings": context_}, 8)
}

// writeDelta is writeModel for Qwen3.5: a layer with a delta rule and one with attention.
func writeDelta(t testing.TB, bf16, tied bool) string { return writeLongDelta(t, bf16, tied, context_) }

// writeLongDelta is writeDelta for sequences of that many positions.
func writeLongDelta(t testing.TB, bf16, tied bool, positions int) string {
	return writeShape(t, bf16, tied, map[string]any{"architectures": []string{"Qwen3_5ForCausalLM"},
		"vocab_size": vocab, "hidden_size": 32, "num_hidden_layers": 2, "full_attention_interval": 2,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 48,
		"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 12,
		"max_position_embeddings": positions}, 8)
}

// writeConv is writeModel for LFM2: two layers with a convolution around one with attention.
func writeConv(t testing.TB, bf16, tied bool) string {
	return writeShape(t, bf16, tied, map[string]any{"architectures": []string{"Lfm2ForCausalLM"},
		"vocab_size": vocab, "hidden_size": 32, "num_hidden_layers": 3,
		"layer_types": []string{"conv", "full_attention", "conv"}, "num_attention_heads": 4,
		"num_key_value_heads": 2, "intermediate_size": 48, "block_auto_adjust_ff_dim": false,
		"max_position_embeddings": context_}, 8)
}

// writeExperts is writeModel for Qwen3-MoE: a layer with experts and one without.
func writeExperts(t testing.TB, bf16, tied bool) string {
	return writeShape(t, bf16, tied, map[string]any{"architectures": []string{"Qwen3MoeForCausalLM"},
		"vocab_size": vocab, "hidden_size": 32, "num_hidden_layers": 2, "mlp_only_layers": []int{1},
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 48,
		"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 20, "norm_topk_prob": true,
		"max_position_embeddings": context_}, 8)
}

// writeSinks is writeModel for gpt-oss: a layer with a window and one without.
func writeSinks(t testing.TB, bf16, tied bool) string {
	return writeShape(t, bf16, tied, map[string]any{"architectures": []string{"GptOssForCausalLM"},
		"vocab_size": vocab, "hidden_size": 32, "num_hidden_layers": 2, "sliding_window": 20,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 20,
		"num_local_experts": 6, "num_experts_per_tok": 2, "swiglu_limit": 0.5, "max_position_embeddings": context_}, 8)
}

func writeShape(t testing.TB, bf16, tied bool, c map[string]any, scale float32) string {
	t.Helper()
	if c["architectures"] == nil {
		c["architectures"] = []string{"Qwen3ForCausalLM"}
	}
	c["rms_norm_eps"], c["rope_theta"] = 1e-6, 10000.0
	c["tie_word_embeddings"], c["torch_dtype"], c["eos_token_id"], c["hidden_act"] = tied, "float32", 0, "silu"
	if bf16 {
		c["torch_dtype"] = "bfloat16"
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := enginetest.Model(t, raw, scale)
	write(t, filepath.Join(dir, "generation_config.json"), []byte(`{"eos_token_id": [0, 7]}`))
	return dir
}

func write(t testing.TB, path string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// cacheOf is the KV cache of the base model's own weights.
func cacheOf(e *Engine) *cache.Cache {
	return e.memory.Find(baseName).KV.Of(e.memory.Find(baseName).Config)
}

// letters gives every token two bytes, so that stop strings cross tokens: token 5 is "5;".
type letters struct{}

func (letters) Bytes(id int32) []byte { return []byte{byte('0' + id%10), ';'} }

func open(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Models == nil {
		o.Models = map[string]Model{baseName: {Dir: writeModel(t, true, true), Tokens: letters{}}}
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Kernel == "" {
		o.Kernel = kernels().Path().String()
	}
	if o.Threads == 0 {
		o.Threads = 1 // more would mostly wait for each other: TestSettingsChangeNoBit has more
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until something holds that no event reports.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// value waits for a request that must succeed.
func value[T any](t testing.TB, f *tinker.Future[T], err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.Wait(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// failure waits for a request that must fail.
func failure[T any](t testing.TB, f *tinker.Future[T], err error) error {
	t.Helper()
	if err == nil {
		_, err = f.Wait(testContext(t))
	}
	if err == nil {
		t.Fatal("the request succeeded")
	}
	return err
}

func lora(rank int) tinker.LoRA {
	seed := int64(5)
	return tinker.LoRA{Rank: rank, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}
}

func create(t testing.TB, e *Engine, seq int64, l tinker.LoRA) tinker.TrainingClient {
	t.Helper()
	c, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{SessionID: "s", ModelSeqID: seq,
		BaseModel: baseName, LoRA: l})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tokens is a sequence of n that differs by seed.
func tokens(seed, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32((seed*31 + i*i*7 + i*13) % vocab)
	}
	return out
}

// datum trains on a sequence with changing weights.
func datum(seq []int32) tinker.Datum {
	n := len(seq) - 1
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(i%3) - 0.75
	}
	return tinker.Datum{ModelInput: tinker.Text(seq[:n]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(seq[1:]), tinker.Weights: tinker.Floats(w)}}
}

func batch(seqs ...[]int32) tinker.ForwardRequest {
	r := tinker.ForwardRequest{LossFn: tinker.CrossEntropy}
	for _, s := range seqs {
		r.Data = append(r.Data, datum(s))
	}
	return r
}

var mixed = [][]int32{tokens(1, 40), tokens(2, 3), tokens(3, 97), tokens(4, 33), tokens(5, 65)}

func adam(lr float64) tinker.OptimStepRequest {
	p := tinker.DefaultAdam()
	p.LearningRate, p.Eps = lr, 1e-8
	return tinker.OptimStepRequest{Adam: p}
}

// train does steps of forward_backward and optim_step.
func train(t testing.TB, c tinker.TrainingClient, steps int, seqs ...[]int32) {
	t.Helper()
	ctx := testContext(t)
	for range steps {
		f, err := c.ForwardBackward(ctx, batch(seqs...))
		o, oerr := c.OptimStep(ctx, adam(1e-2))
		value(t, f, err)
		value(t, o, oerr)
	}
}

// logprobs returns Forward's log-probabilities of each sequence's tokens after the first.
func logprobs(t testing.TB, c tinker.TrainingClient, seqs ...[]int32) [][]float32 {
	t.Helper()
	f, err := c.Forward(testContext(t), batch(seqs...))
	return logprobsOf(value(t, f, err))
}

func logprobsOf(o tinker.ForwardOutput) [][]float32 {
	var all [][]float32
	for _, r := range o.LossFnOutputs {
		all = append(all, r[tinker.Logprobs].Float)
	}
	return all
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func allSame(a, b [][]float32) bool { return slices.EqualFunc(a, b, sameBits) }

// samplerOf opens the weights of a training client as they are.
func samplerOf(t testing.TB, e *Engine, c tinker.TrainingClient, name string) tinker.SamplingClient {
	t.Helper()
	f, err := c.SaveWeightsForSampler(testContext(t), tinker.SaveRequest{Name: name})
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{ModelPath: value(t, f, err).Path})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sampleRequest(n, most int, seed uint64, prompt []int32) tinker.SampleRequest {
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Seed, p.StopTokens = most, &seed, []int32{138}
	return tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: n, Params: p}
}

func draw(t testing.TB, c tinker.SamplingClient, r tinker.SampleRequest) tinker.SampleResponse {
	t.Helper()
	f, err := c.Sample(testContext(t), r)
	return value(t, f, err)
}

// kernels are the best ones; their self-test, which is slow under the race detector, runs once for all tests.
var kernels = sync.OnceValue(func() *kernel.Set {
	k, _ := kernel.Best(kernel.Native())
	return k
})
