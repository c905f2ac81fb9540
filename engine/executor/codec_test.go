package executor

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func version() Version {
	return Version{Numerics: "trinity-4-blocked", BF16: true, Base: "sha256:abc", Manifest: HashOf([]byte("m")),
		LoRA: tinker.LoRA{Rank: 8, Alpha: 32, TrainAttn: true, Modules: "q_proj,v_proj"}, Params: HashOf([]byte("p"))}
}

func tasks() []Task {
	return []Task{
		{Kind: KindSample, Version: version(), Sample: Sample{Prompt: []int32{5, 0, 151935}, First: 3, N: 4,
			Seed: math.MaxUint64, MaxTokens: 200, Temperature: 0.7, TopP: 0.95, MinP: 0.01, TopK: 40,
			StopTokens: []int32{7}, StopStrings: []string{"</s>", "\x00"}, Tokens: HashOf([]byte("t"))}},
		{Kind: KindSample, Version: Version{Numerics: "n"}, Sample: Sample{Prompt: []int32{1}, N: 1, MaxTokens: 1,
			TopP: 1}},
		{Kind: KindForward, Version: version(), Batch: batch()},
		{Kind: KindGradient, Version: version(), Batch: batch()},
	}
}

func batch() Batch {
	return Batch{Loss: tinker.PPO, Config: map[string]float64{"clip_low_threshold": 0.8, tinker.EntropyCoef: 0.1},
		Data: []tinker.Datum{{ModelInput: tinker.Text([]int32{1, 2, 3}), LossFnInputs: map[string]tinker.Tensor{
			tinker.TargetTokens: tinker.Ints([]int64{2, 3, 4}), tinker.Logprobs: tinker.Floats([]float32{-1, -0,
				float32(math.Inf(-1))}),
			tinker.Advantages: {Shape: []int{3, 1}, Float: []float32{1, math.Float32frombits(0x7fc00001), 1e-45}}}}}}
}

// tasks survive the round trip with every bit, and have one encoding.
func TestTasks(t *testing.T) {
	for i, task := range tasks() {
		raw, err := task.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeTask(raw)
		if err != nil {
			t.Fatalf("task %d: %v", i, err)
		}
		again, err := got.Encode()
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("task %d: its copy has another encoding; %v", i, err)
		}
		if task.Kind == KindSample && !reflect.DeepEqual(got, task) {
			t.Errorf("task %d: got %+v, want %+v", i, got, task)
		}
		for n := range len(raw) {
			if _, err := DecodeTask(raw[:n]); err == nil {
				t.Errorf("task %d: its first %d bytes of %d are a task too", i, n, len(raw))
			}
		}
		if _, err := DecodeTask(append(raw, 0)); err == nil {
			t.Errorf("task %d with a byte more is a task too", i)
		}
	}
}

func TestImagesStayHere(t *testing.T) {
	b := batch()
	b.Data[0].ModelInput.Chunks = append(b.Data[0].ModelInput.Chunks, tinker.Chunk{Image: &tinker.Image{}})
	if _, err := (Task{Kind: KindForward, Batch: b}).Encode(); err == nil {
		t.Error("an image was encoded")
	}
}

func TestResults(t *testing.T) {
	s := Sample{N: 2, MaxTokens: 3}
	samples := []tinker.SampledSequence{
		{Tokens: []int32{1, 2}, Logprobs: []float32{-0.5, math.Float32frombits(1)}, StopReason: tinker.StopStop},
		{Tokens: []int32{9}, Logprobs: []float32{-2}, StopReason: tinker.StopLength}}
	raw := EncodeSamples(samples)
	if got, err := DecodeSamples(raw, s); err != nil || !reflect.DeepEqual(got, samples) {
		t.Errorf("samples: %+v, %v", got, err)
	}
	for _, wrong := range []Sample{{N: 1, MaxTokens: 3}, {N: 2, MaxTokens: 1}} {
		if _, err := DecodeSamples(raw, wrong); err == nil {
			t.Errorf("the samples answered %+v", wrong)
		}
	}
	b := batch()
	outs := []Output{{Logprobs: []float32{-1, -2, -3}, Entropy: []float32{1, 2, 3}, Centre: []float32{0, 0, 1},
		Loss: -0.125}}
	g := Gradient{{1, math.Float32frombits(1 << 31)}, {}, {3}}
	raw = EncodeOutputs(KindGradient, outs, g)
	gotOuts, gotG, err := DecodeOutputs(raw, KindGradient, b)
	if err != nil || !reflect.DeepEqual(gotOuts, outs) || len(gotG) != 3 || math.Float32bits(gotG[0][1]) != 1<<31 ||
		gotG[2][0] != 3 {
		t.Errorf("outputs: %+v, %v, %v", gotOuts, gotG, err)
	}
	if _, _, err := DecodeOutputs(raw, KindForward, b); err == nil {
		t.Error("a gradient answered a forward")
	}
	for n := range len(raw) {
		if _, _, err := DecodeOutputs(raw[:n], KindGradient, b); err == nil {
			t.Errorf("the first %d bytes of %d are a result too", n, len(raw))
		}
	}
	delete(b.Config, tinker.EntropyCoef)
	if _, _, err := DecodeOutputs(raw, KindGradient, b); err == nil {
		t.Error("entropies that nobody asked for were taken")
	}
}

func TestManifests(t *testing.T) {
	good := Manifest{Base: "b", Name: "n", Files: []File{{"config.json", 3, HashOf(nil)}, {"model.safetensors", 9,
		HashOf(nil)}}}
	raw, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseManifest(raw); err != nil || !reflect.DeepEqual(got, good) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, f := range map[string]File{"a folder": {"../config.json", 1, HashOf(nil)}, "absolute": {"/etc/passwd", 1,
		HashOf(nil)},
		"hidden": {".ssh", 1, HashOf(nil)}, "twice": {"config.json", 1, HashOf(nil)}, "no hash": {"a", 1, "abc"},
		"windows": {`c:\a`, 1, HashOf(nil)}, "a size": {"a", -1, HashOf(nil)}} {
		bad := good
		bad.Files = append(bad.Files[:2:2], f)
		raw, err := bad.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseManifest(raw); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := ParseManifest([]byte(strings.Repeat(" ", maxManifest+1))); err == nil {
		t.Error("a manifest without an end was read")
	}
}

func TestTokenTable(t *testing.T) {
	words := []string{"a", "", "\xff\x00", "word"}
	table, err := ParseTokenTable(NewTokenTable(len(words), func(id int32) []byte {
		return []byte(
			words[id])
	}).Encode())
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range words {
		if got := table.Bytes(int32(i)); string(got) != w {
			t.Errorf("token %d is %q, want %q", i, got, w)
		}
	}
	if table.Bytes(-1) != nil || table.Bytes(4) != nil {
		t.Error("tokens outside the vocabulary have bytes")
	}
}

func FuzzTask(f *testing.F) {
	for _, task := range tasks() {
		raw, err := task.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		task, err := DecodeTask(raw)
		if err != nil {
			return
		}
		again, err := task.Encode()
		if err != nil || !bytes.Equal(raw, again) {
			t.Errorf("a task has two encodings: %x, %x, %v", raw, again, err)
		}
	})
}

func FuzzResult(f *testing.F) {
	s, b := Sample{N: 1, MaxTokens: 8}, batch()
	f.Add(EncodeSamples([]tinker.SampledSequence{{Tokens: []int32{1}, Logprobs: []float32{-1},
		StopReason: tinker.StopStop}}))
	f.Add(EncodeOutputs(KindGradient, []Output{{Logprobs: make([]float32, 3), Entropy: make([]float32, 3),
		Centre: make([]float32, 3)}}, Gradient{{1, 2}}))
	f.Add(NewTokenTable(2, func(int32) []byte { return []byte("ab") }).Encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if list, err := DecodeSamples(raw, s); err == nil && !bytes.Equal(raw, EncodeSamples(list)) {
			t.Error("samples have two encodings")
		}
		if outs, g, err := DecodeOutputs(raw, KindGradient, b); err == nil && !bytes.Equal(raw, EncodeOutputs(
			KindGradient, outs, g)) {
			t.Error("outputs have two encodings")
		}
		if table, err := ParseTokenTable(raw); err == nil && !bytes.Equal(raw, table.Encode()) {
			t.Error("a table has two encodings")
		}
		ParseManifest(raw)
	})
}

// Garbage is refused before its numbers take memory, and without a copy of the gradient too.
func TestGradientsOfNothing(t *testing.T) {
	outs := []Output{{Logprobs: make([]float32, 3), Entropy: make([]float32, 3), Centre: make([]float32, 3)}}
	raw := EncodeOutputs(KindGradient, outs, Gradient{{1, 2}, {3}})
	if err := CheckOutputs(raw, KindGradient, batch()); err != nil {
		t.Error(err)
	}
	for n := range len(raw) {
		if CheckOutputs(raw[:n], KindGradient, batch()) == nil {
			t.Errorf("the first %d bytes of %d are a result too", n, len(raw))
		}
	}
	w := writer{b: EncodeOutputs(KindGradient, outs, nil)}
	w.b = w.b[:len(w.b)-1] // the number of tensors
	w.count(4 << 20)
	w.raw(make([]byte, 4<<20)) // each without a value
	if err := CheckOutputs(w.b, KindGradient, batch()); err == nil {
		t.Error("a gradient of 4 million tensors is one")
	}
}
