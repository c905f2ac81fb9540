package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A failed request uses its number and changes neither weights nor optimizer nor gradient, whatever its error.
func TestFailedRequestsChangeNothing(t *testing.T) {
	e := open(t, Options{MicroBatch: 32})
	c, twin := create(t, e, 0, lora(4)), create(t, e, 1, lora(4))
	huge := func(at int) tinker.ForwardRequest { // overflows in the last micro-batch
		r := batch(mixed...)
		r.LossFn = tinker.ImportanceSampling
		for i := range r.Data {
			n := r.Data[i].ModelInput.Len()
			q, a := make([]float32, n), make([]float32, n)
			if i == at {
				q[n-1], a[n-1] = -3e38, 1
			}
			r.Data[i].LossFnInputs["logprobs"], r.Data[i].LossFnInputs["advantages"] = tinker.Floats(q),
				tinker.Floats(a)
		}
		return r
	}
	bad := func(gathered bool) {
		f, err := c.ForwardBackward(testContext(t), huge(4))
		if err := failure(t, f, err); !strings.Contains(err.Error(),
			"importance_sampling of datum 4 overflows at position 63") {
			t.Errorf("overflow: %v", err)
		}
		r := batch(mixed...)
		for i := range r.Data[4].LossFnInputs["weights"].Float {
			r.Data[4].LossFnInputs["weights"].Float[i] = 3.3e38
		}
		f, err = c.ForwardBackward(testContext(t), r)
		if err := failure(t, f, err); !strings.Contains(err.Error(), "not finite") {
			t.Errorf("overflow of the gradient: %v", err)
		}
		rates := []float64{-1}
		if gathered {
			rates = append(rates, 3e38)
		}
		for _, lr := range rates {
			o, err := c.OptimStep(testContext(t), adam(lr))
			if err := failure(t, o, err); tinker.CategoryOf(err) != tinker.User {
				t.Errorf("learning rate %v: %v", lr, err)
			}
		}
	}
	for range 2 { // with an empty gradient, and on top of one
		for i, seqs := range [][][]int32{mixed[:2], mixed[2:]} {
			bad(i > 0)
			for _, c := range []tinker.TrainingClient{c, twin} {
				f, err := c.ForwardBackward(testContext(t), batch(seqs...))
				value(t, f, err)
			}
		}
		bad(true)
		for _, c := range []tinker.TrainingClient{c, twin} {
			o, err := c.OptimStep(testContext(t), adam(1e-2))
			value(t, o, err)
		}
	}
	if !allSame(logprobs(t, c, mixed...), logprobs(t, twin, mixed...)) {
		t.Error("failed requests left traces")
	}
	if info, err := c.Info(testContext(t)); err != nil || info.NextSeqID != 30 {
		t.Errorf("next seq_id %d, %v; want 30: failed requests use their numbers", info.NextSeqID, err)
	}
}

// Weights that overflow give an error that names the layer and the request, in training and in sampling.
func TestOverflowNamesTheLayer(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(2))
	r := c.(*training.Run)
	for _, p := range r.Params {
		if strings.Contains(p.Name, "layers.1.mlp.down_proj") {
			for i := range p.Data {
				p.Data[i] = 3e38
			}
		}
	}
	repack(t, e, r)
	f, err := c.ForwardBackward(testContext(t), batch(mixed...))
	if err := failure(t, f, err); !strings.Contains(err.Error(),
		"model s:train:0, datum 0: model: not finite after layer 1") {
		t.Error(err)
	}
	if r.Gathered {
		t.Error("it left a gradient")
	}
	s, err := samplerOf(t, e, c, "w").Sample(testContext(t), sampleRequest(2, 5, 1, mixed[0]))
	if err := failure(t, s, err); !strings.Contains(err.Error(), "not finite after layer 1") {
		t.Error(err)
	}
}

func TestRefusedRequests(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(2))
	for name, r := range map[string]struct {
		req  tinker.ForwardRequest
		want string
	}{
		"long": {batch(tokens(1, context_+2)),
			fmt.Sprintf("datum 0 has %d tokens; the context of base model %q has %d", context_+1, baseName, context_)},
		"token": {batch(mixed[0], []int32{1, vocab, 2}), "datum 1: token 1 is 139"},
		"image": {tinker.ForwardRequest{LossFn: tinker.CrossEntropy,
			Data: []tinker.Datum{{ModelInput: tinker.ModelInput{Chunks: []tinker.Chunk{{Image: &tinker.Image{}}}}}}},
			"reads text only"},
		"empty": {tinker.ForwardRequest{LossFn: tinker.CrossEntropy, Data: []tinker.Datum{{}}}, "datum 0 is empty"},
	} {
		f, err := c.Forward(testContext(t), r.req)
		if err := failure(t, f, err); !strings.Contains(err.Error(), r.want) || tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%s: %v, want %q", name, err, r.want)
		}
	}
	for name, r := range map[string]struct {
		req  tinker.CreateModelRequest
		want string
	}{
		"session": {tinker.CreateModelRequest{SessionID: "a/b", BaseModel: baseName, LoRA: lora(1)}, "session_id"},
		"alpha": {tinker.CreateModelRequest{BaseModel: baseName,
			LoRA: tinker.LoRA{Rank: 1, Alpha: -1, TrainMLP: true}}, "alpha -1"},
		"random": {tinker.CreateModelRequest{BaseModel: baseName, LoRA: lora(1), RandomInit: true},
			"random_init with LoRA rank 1"},
		"base": {tinker.CreateModelRequest{BaseModel: "other", LoRA: lora(1)},
			`base model "other" is not served; there are ["tiny"]`},
	} {
		if _, err := e.CreateModel(testContext(t), r.req); err == nil || !strings.Contains(err.Error(), r.want) ||
			tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%s: %v, want %q", name, err, r.want)
		}
	}
	e = open(t, Options{Models: map[string]Model{baseName: {Dir: writeSinks(t, true, false)}}})
	_, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{BaseModel: baseName, LoRA: lora(0)})
	if err == nil || !strings.Contains(err.Error(), "not supported for GptOssForCausalLM") {
		t.Error(err)
	}
}

// Random choices follow from the seed and differ from each other.
func TestDrawnSeeds(t *testing.T) {
	dir, seed := writeModel(t, true, true), uint64(3)
	first := func() (ids []string, seeds []int64) {
		e := open(t, Options{Models: map[string]Model{baseName: {Dir: dir}}, Seed: &seed})
		for range 2 {
			l := lora(2)
			l.Seed = nil
			c, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{BaseModel: baseName, LoRA: l})
			if err != nil {
				t.Fatal(err)
			}
			info, err := c.Info(testContext(t))
			if err != nil || info.LoRA.Alpha != 32 {
				t.Fatalf("%+v, %v", info, err)
			}
			ids, seeds = append(ids, info.ModelID), append(seeds, *info.LoRA.Seed)
		}
		return ids, seeds
	}
	ids, seeds := first()
	ids2, seeds2 := first()
	if !slices.Equal(ids, ids2) || !slices.Equal(seeds, seeds2) || ids[0] == ids[1] || seeds[0] == seeds[1] {
		t.Errorf("drawn %v %v, again %v %v", ids, seeds, ids2, seeds2)
	}
}

// Random weights need no files, and depend on the seed.
func TestRandomInit(t *testing.T) {
	dir := writeModel(t, true, true)
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: dir}}})
	request := func(i int, seed int64) tinker.CreateModelRequest {
		return tinker.CreateModelRequest{SessionID: "r", ModelSeqID: int64(i), BaseModel: baseName,
			LoRA: tinker.LoRA{Seed: &seed}, RandomInit: true}
	}
	var got [][]float32
	for i, seed := range []int64{1, 1, 2} {
		c, err := e.CreateModel(testContext(t), request(i, seed))
		if err != nil {
			t.Fatal(err)
		}
		train(t, c, 1, mixed...)
		draw(t, samplerOf(t, e, c, "w"), sampleRequest(1, 4, 1, mixed[0]))
		got = append(got, logprobs(t, c, mixed[0])[0])
	}
	if !sameBits(got[0], got[1]) || sameBits(got[0], got[2]) {
		t.Error("random weights do not follow from their seed")
	}
	r := request(9, 1)
	r.RandomInit = false
	if _, err := e.CreateModel(testContext(t), r); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a base without weights: %v", err)
	}
}

// Runs that train at once do not disturb each other.
func TestRunsAtOnce(t *testing.T) {
	e := open(t, Options{MicroBatch: 64})
	kinds := []tinker.LoRA{lora(2), lora(8), lora(0), lora(2)}
	var want [4][][]float32
	for i, l := range kinds {
		c := create(t, e, int64(i), l)
		train(t, c, 3, mixed[i:]...)
		want[i] = logprobs(t, c, mixed...)
	}
	var runs []tinker.TrainingClient
	for i, l := range kinds {
		runs = append(runs, create(t, e, int64(10+i), l))
	}
	var steps []*tinker.Future[tinker.OptimStepOutput]
	for range 3 { // all are accepted before the first is done
		for i, c := range runs {
			_, ferr := c.ForwardBackward(testContext(t), batch(mixed[i:]...))
			o, err := c.OptimStep(testContext(t), adam(1e-2))
			if err := errors.Join(ferr, err); err != nil {
				t.Fatal(err)
			}
			steps = append(steps, o)
		}
	}
	for _, o := range steps {
		value(t, o, nil)
	}
	for i, c := range runs {
		if !allSame(logprobs(t, c, mixed...), want[i]) {
			t.Errorf("run %d gives other bits beside the others", i)
		}
	}
}
