package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Bytes recorded from tinker 0.25.0's own encoder; the response goldens were decoded by it.
const (
	goldenForward = "0a016d10031a710a0c0a0a0a0807000000080000000a0e120c0a02787912046a706567180212510a0777656967687473" +
		"1246123e0a080000803f00000040" +
		"122000000000000000000100000000000000010000000000000002000000000000001a10000000000000000003000000" +
		"00000000180122020304220370706f" +
		"2a1d0a12636c69705f6c6f775f7468726573686f6c64119a9999999999e93f"
	goldenOutput = "0a0b41727261795265636f72641242123e0a086c6f6770726f627312320a14000080bf000000c0000040c0000080c000" +
		"00a0c01218000000000000000008" +
		"000000000000001400000000000000180118021a130a086c6f73733a73756d110000000000002e40"
	// of tinker 0.38.0's own SampleResponse: topk_sampled_logprobs, target_prompt_logprobs (sparse) and
	// prompt_alt_tokens
	goldenScores = "0a40080112080b0000000c0000001a08000000bf0000a0bf22280a100b000000030000000c0000000400000012100000" +
		"00bf000000c00000a0bf0000c0bf" +
		"180220022a3e12360a08000000c00000000012180000000000000000010000000000000002000000000000001a100400" +
		"0000000000000000000000000000" +
		"18012202020532440a280a20070000000000000007000000000000000800000000000000090000000000000018022202" +
		"020212180a10000080bf000080bf" +
		"000000c0000040c0180122020202"
	goldenSample = "0a16080112080b0000000c0000001a08000000bf0000a0bf12080000c07f000000c01a280a1000000000000000000700" +
		"0000090000001210804fc3c78" +
		"04fc3c7000080be000040c0180220022002"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestForwardBackwardGolden(t *testing.T) {
	got, err := DecodeForwardBackward(unhex(t, goldenForward))
	if err != nil {
		t.Fatal(err)
	}
	want := ForwardBackward{ModelID: "m", SeqID: 3, LossFn: tinker.PPO,
		LossFnConfig: map[string]float64{"clip_low_threshold": 0.8},
		Data: []tinker.Datum{{
			ModelInput: tinker.ModelInput{Chunks: []tinker.Chunk{{Tokens: []int32{7, 8}},
				{Image: &tinker.Image{Data: []byte("xy"), Format: "jpeg", ExpectedTokens: 2}}}},
			LossFnInputs: map[string]tinker.Tensor{"weights": {Shape: []int{3, 4},
				Float: []float32{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}}}}}
	// crow [0,1,1,2], col [0,3]: row 0 has 1 at column 0, row 2 has 2 at column 3.
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestOutputGolden(t *testing.T) {
	want := tinker.ForwardOutput{Metrics: map[string]float64{"loss:sum": 15}, LossFnOutputs: []map[string]tinker.Tensor{
		{"logprobs": tinker.Floats([]float32{-1, -2})}, {"logprobs": tinker.Floats([]float32{-3, -4, -5})}}}
	got, err := DecodeOutput(unhex(t, goldenOutput))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v\nwant %+v", got, err, want)
	}
	if b := hex.EncodeToString(EncodeOutput(want)); b != goldenOutput {
		t.Errorf("encoded %s\nwant %s", b, goldenOutput)
	}
}

func TestSampleGolden(t *testing.T) {
	nan := float32(math.NaN())
	want := tinker.SampleResponse{
		Sequences: []tinker.SampledSequence{{Tokens: []int32{11, 12}, Logprobs: []float32{-0.5, -1.25},
			StopReason: tinker.StopLength}},
		PromptLogprobs:       []float32{nan, -2},
		TopKPromptLogprobs:   [][]tinker.TokenLogprob{nil, {{Token: 7, Logprob: -0.25}, {Token: 9, Logprob: -3}}},
		PromptCacheHitTokens: 2,
	}
	if b := hex.EncodeToString(EncodeSample(want)); b != goldenSample {
		t.Errorf("encoded %s\nwant %s", b, goldenSample)
	}
	got, err := DecodeSample(unhex(t, goldenSample))
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(float64(got.PromptLogprobs[0])) {
		t.Errorf("prompt logprob 0 is %v, want NaN", got.PromptLogprobs[0])
	}
	got.PromptLogprobs[0], want.PromptLogprobs[0] = 0, 0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v\nwant %+v", got, want)
	}
}

func scores() tinker.SampleResponse {
	return tinker.SampleResponse{
		Sequences: []tinker.SampledSequence{{Tokens: []int32{11, 12}, Logprobs: []float32{-0.5, -1.25},
			StopReason: tinker.StopLength,
			TopKLogprobs: [][]tinker.TokenLogprob{{{Token: 11, Logprob: -0.5}, {Token: 3, Logprob: -2}},
				{{Token: 12, Logprob: -1.25}, {Token: 4, Logprob: -1.5}}}}},
		TargetPromptLogprobs: &tinker.Matrix[float32]{Shape: [2]int{2, 5}, Values: []float32{-2, 0},
			Start: []int64{0, 1, 2}, Columns: []int64{4, 0}},
		PromptAltTokens: [][]tinker.TokenLogprob{nil, {{Token: 7, Logprob: -1}, {Token: 7, Logprob: -1}},
			{{Token: 8, Logprob: -2}, {Token: 9, Logprob: -3}}},
	}
}

func TestScoresGolden(t *testing.T) {
	if b := hex.EncodeToString(EncodeSample(scores())); b != goldenScores {
		t.Errorf("encoded %s\nwant %s", b, goldenScores)
	}
	got, err := DecodeSample(unhex(t, goldenScores))
	if err != nil || !reflect.DeepEqual(got, scores()) {
		t.Errorf("decoded %+v, %v\nwant %+v", got, err, scores())
	}
}

// Targets are JSON, dense or sparse, and a sparse one takes memory for its values only, whatever its shape.
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		json string
		want *tinker.Matrix[int32]
	}{
		{`{"data":[5,-1],"dtype":"int64","shape":[2,1]}`,
			&tinker.Matrix[int32]{Shape: [2]int{2, 1}, Values: []int32{5, -1}}},
		{`{"data":[5],"dtype":"int64","shape":[2,1000000000],"sparse_crow_indices":[0,0,1],"sparse_col_indices":[7]}`,
			&tinker.Matrix[int32]{Shape: [2]int{2, 1000000000}, Values: []int32{5}, Start: []int64{0, 0, 1},
				Columns: []int64{7}}},
		{`{"data":[5],"dtype":"float32","shape":[1,1]}`, nil},
		{`{"data":[5],"dtype":"int64"}`, nil},
		{`{"data":[5],"dtype":"int64","shape":[1]}`, nil},
		{`{"data":[null],"dtype":"int64","shape":[1,1]}`, nil},
		{`{"data":[1.5],"dtype":"int64","shape":[1,1]}`, nil},
		{`{"data":[4294967296],"dtype":"int64","shape":[1,1]}`, nil},
		{`{"data":[5],"dtype":"int64","shape":[2,1]}`, nil},
		{`{"data":[5],"dtype":"int64","shape":[1,1],"sparse_crow_indices":[0,2],"sparse_col_indices":[0]}`, nil},
	} {
		var l JSONTensor
		if err := Decode([]byte(c.json), &l); err != nil {
			t.Fatalf("%s: %v", c.json, err)
		}
		got, err := l.Targets()
		if c.want == nil {
			if tinker.CategoryOf(err) != tinker.User {
				t.Errorf("%s: %+v, %v; want a User error", c.json, got, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) || !reflect.DeepEqual(*FromTargets(got), l) {
			t.Errorf("%s: %+v, %v; want %+v", c.json, got, err, c.want)
		}
	}
}

func TestForwardBackwardRoundTrip(t *testing.T) {
	want := ForwardBackward{ModelID: "s:train:0", SeqID: 7, LossFn: tinker.CISPO, ForwardOnly: true,
		LossFnConfig: map[string]float64{"clip_low_threshold": 0, "clip_high_threshold": 4},
		Data: []tinker.Datum{
			{ModelInput: tinker.Text([]int32{1, -2, math.MaxInt32}), LossFnInputs: map[string]tinker.Tensor{
				tinker.TargetTokens: tinker.Ints([]int64{1, -1 << 63, 3}),
				tinker.Weights:      {Shape: []int{3, 1}, Float: []float32{-1, 0, float32(math.Inf(1))}}}},
			{ModelInput: tinker.Text(nil), LossFnInputs: map[string]tinker.Tensor{"x": {Shape: []int{0},
				Int: []int64{}}}},
		},
		Provenance: []Provenance{{}, {Input: []Span{{Sequence: "s:sample:0:1:2", Offset: 3, Length: 4},
			{Sequence: "y", Sampled: true, Length: 1 << 40}},
			Target: []Span{{Sequence: "z", Sampled: true, Offset: math.MaxInt64}}}}}
	got, err := DecodeForwardBackward(EncodeForwardBackward(want))
	if err != nil {
		t.Fatal(err)
	}
	got.Data[1].ModelInput.Chunks[0].Tokens = nil // an empty list is as good as none
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// A request with too many spans is refused by name, with its number.
func TestTooManySpans(t *testing.T) {
	raw := EncodeForwardBackward(ForwardBackward{ModelID: "m", SeqID: 3,
		Data:       []tinker.Datum{{ModelInput: tinker.Text(nil)}},
		Provenance: []Provenance{{Input: make([]Span, maxSpans), Target: make([]Span, 1)}}})
	got, err := DecodeForwardBackward(raw)
	if got.SeqID != 3 || tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(),
		"more than 1048576 provenance spans") {
		t.Errorf("seq_id %d, %v", got.SeqID, err)
	}
}

// Narrow types of the protocol are widened to those of package tinker.
func TestTensorWidths(t *testing.T) {
	for _, c := range []struct {
		name  string
		dtype DType
		raw   []byte
		want  tinker.Tensor
	}{
		{"bfloat16", BFloat16, []byte{0x80, 0x3f, 0x00, 0xc0}, tinker.Tensor{Float: []float32{1, -2}}},
		{"int32", Int32, []byte{1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, tinker.Tensor{Int: []int64{1, -1}}},
	} {
		room := maxDense
		msg := appendVarint(appendBytes(nil, 1, c.raw), 3, uint64(c.dtype))
		if got, err := readTensor(msg, &room); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

// Wrong contents are the user's error, name the datum and the field, and leave model and number readable.
func TestForwardBackwardNamesWhatIsWrong(t *testing.T) {
	sparse := func(shape []int64, crow, col []int64, values []float32) []byte {
		m := appendBytes(nil, 1, writeFloats(nil, values))
		m = appendBytes(appendBytes(m, 2, writeInts(nil, crow)), 3, writeInts(nil, col))
		return appendInt64s(appendVarint(appendBytes(nil, 2, m), 3, uint64(Float32)), 4, shape)
	}
	for _, c := range []struct {
		tensor []byte
		want   string
	}{
		{appendBytes(nil, 1, make([]byte, 4)), "dtype 0"},
		{appendVarint(appendBytes(nil, 1, make([]byte, 5)), 3, 1), "5 bytes"},
		{appendInt64s(appendVarint(appendBytes(nil, 1, make([]byte, 8)), 3, 1), 4, []int64{3}), "needs 3 elements"},
		{appendInt64s(appendVarint(appendBytes(nil, 1, nil), 3, 1), 4, []int64{-1}), "negative"},
		{sparse([]int64{1 << 20, 1 << 10}, nil, nil, nil), "in dense form"},
		{sparse([]int64{2}, nil, nil, nil), "two dimensions"},
		{sparse([]int64{1, 2}, []int64{0, 1}, []int64{2}, []float32{1}), "column 2 of row 0"},
		{sparse([]int64{2, 2}, []int64{0, 9, 1}, []int64{0}, []float32{1}), "row 0 has indices 0 to 9"},
		{sparse([]int64{2, 2}, []int64{0, 1}, []int64{0}, []float32{1}), "2 row and 1 column"},
	} {
		entry := appendBytes(appendString(nil, 1, "weights"), 2, c.tensor)
		msg := appendBytes(nil, 3, appendBytes(nil, 2, entry)) // the datum comes before model and number
		msg = appendVarint(appendString(msg, 1, "m"), 2, 5)
		got, err := DecodeForwardBackward(msg)
		if tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), `datum 0: loss_fn_inputs["weights"]`) {
			t.Errorf("error %v; want a User error with datum, field and %q", err, c.want)
		}
		if got.ModelID != "m" || got.SeqID != 5 {
			t.Errorf("model %q, number %d were lost", got.ModelID, got.SeqID)
		}
	}
}

// Parts that take next to no bytes are limited in number, since each takes memory.
func TestOutputsAreBounded(t *testing.T) {
	tensor := func(offsets int) []byte { return appendVarint(appendBytes(nil, 2, make([]byte, 8*offsets)), 3, 1) }
	column := func(b []byte, name string, offsets int) []byte {
		return appendBytes(b, 2, appendBytes(appendBytes(nil, 1, []byte(name)), 2, tensor(offsets)))
	}
	many := []byte{}
	for i := range maxTensors/maxDatums + 1 {
		many = column(many, fmt.Sprint(i), maxDatums+1)
	}
	metrics := []byte{}
	for i := range maxDatums + 1 {
		metrics = appendBytes(metrics, 3, appendBytes(nil, 1, fmt.Append(nil, i)))
	}
	for name, b := range map[string][]byte{
		"datums":  appendBytes(nil, 2, column(nil, "x", maxDatums+2)),
		"claimed": appendBytes(nil, 2, appendVarint(nil, 3, maxDatums+1)),
		"tensors": appendBytes(nil, 2, many),
		"metrics": metrics,
		"rank": appendBytes(nil, 2, appendBytes(nil, 2, appendBytes(appendBytes(nil, 1, []byte("x")), 2,
			appendInt64s(tensor(2), 4, make([]int64, maxRank+1))))),
	} {
		if o, err := DecodeOutput(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %d datums, %v", name, len(o.LossFnOutputs), err)
		}
	}
	if o, err := DecodeOutput(appendBytes(nil, 2, column(nil, "x", 3))); err != nil || len(o.LossFnOutputs) != 2 {
		t.Errorf("two datums: %d, %v", len(o.LossFnOutputs), err)
	}
	if _, err := DecodeSample(bytes.Repeat([]byte{0x0a, 0}, maxTensors+1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("sequences: %v", err)
	}
}

func TestMalformed(t *testing.T) {
	for _, b := range [][]byte{{0x0a}, {0x0a, 0x05, 'x'}, {0xff}, {0x1a, 0x02, 0x0a, 0x05}} {
		if _, err := DecodeForwardBackward(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("% x: error %v, want ErrMalformed", b, err)
		}
	}
	for _, b := range []string{"", "{", `{"a":1} x`, "[1]"} {
		if err := Decode([]byte(b), &RetrieveRequest{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: error %v, want ErrMalformed", b, err)
		}
	}
}

func TestSamplingParams(t *testing.T) {
	seed := func(s uint64) *uint64 { return &s }
	base := tinker.DefaultSampling()
	with := func(f func(*tinker.SamplingParams)) tinker.SamplingParams { p := base; f(&p); return p }
	for _, c := range []struct {
		json string
		want tinker.SamplingParams
	}{
		{`{}`, base},
		{`{"max_tokens":5,"temperature":0,"top_k":3,"top_p":0.5}`,
			with(func(p *tinker.SamplingParams) { p.MaxTokens, p.Temperature, p.TopK, p.TopP = 5, 0, 3, 0.5 })},
		{`{"stop":"\n"}`, with(func(p *tinker.SamplingParams) { p.StopStrings = []string{"\n"} })},
		{`{"stop":["a","b"]}`, with(func(p *tinker.SamplingParams) { p.StopStrings = []string{"a", "b"} })},
		{`{"stop":[1,2],"unknown":true}`, with(func(p *tinker.SamplingParams) { p.StopTokens = []int32{1, 2} })},
		{`{"stop":null}`, base},
		{`{"stop":[]}`, with(func(p *tinker.SamplingParams) { p.NoStop = true })},
		{`{"seed":18446744073709551615}`, with(func(p *tinker.SamplingParams) { p.Seed = seed(math.MaxUint64) })},
		{`{"seed":-1}`, with(func(p *tinker.SamplingParams) { p.Seed = seed(math.MaxUint64) })},
	} {
		var p samplingParams
		if err := Decode([]byte(c.json), &p); err != nil {
			t.Fatalf("%s: %v", c.json, err)
		}
		got, err := p.Tinker()
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.json, got, err, c.want)
		}
		back, err := FromSampling(got)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		var again samplingParams
		if err := Decode(raw, &again); err != nil {
			t.Fatal(err)
		}
		if got, err := again.Tinker(); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: came back as %s", c.json, raw)
		}
	}
	for _, bad := range []string{`{"stop":{}}`, `{"stop":[1.5]}`, `{"seed":1.5}`, `{"seed":99999999999999999999}`} {
		if err := Decode([]byte(bad), &samplingParams{}); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func FuzzDecodeForwardBackward(f *testing.F) {
	f.Add(unhex(f, goldenForward))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeForwardBackward(b)
		if err != nil {
			return
		}
		again, err := DecodeForwardBackward(EncodeForwardBackward(r))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if len(again.Data) != len(r.Data) || again.ModelID != r.ModelID || again.SeqID != r.SeqID {
			t.Fatalf("%+v came back as %+v", r, again)
		}
	})
}

func FuzzDecodeOutput(f *testing.F) {
	f.Add(unhex(f, goldenOutput))
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := DecodeOutput(b); err == nil {
			if again, err := DecodeOutput(EncodeOutput(o)); err != nil ||
				len(again.LossFnOutputs) != len(o.LossFnOutputs) {
				t.Fatalf("%+v came back as %+v, %v", o, again, err)
			}
		}
	})
}

func FuzzDecodeSample(f *testing.F) {
	f.Add(unhex(f, goldenSample))
	f.Add(unhex(f, goldenScores))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := DecodeSample(b); err == nil {
			if again, err := DecodeSample(EncodeSample(r)); err != nil || len(again.Sequences) != len(r.Sequences) {
				t.Fatalf("%+v came back as %+v, %v", r, again, err)
			}
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(`{"sampling_session_id":"s","seq_id":1,"num_samples":1,"prompt":{"chunks":[{"type":"encoded_text",` +
		`"tokens":[1]}]},"sampling_params":{"stop":["a"],"seed":1}}`))
	f.Add([]byte(`{"target_prompt_logprobs":{"data":[5],"dtype":"int64","shape":[2,9],"sparse_crow_indices":[0,0,1],` +
		`"sparse_col_indices":[7]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s SampleRequest
		if Decode(b, &s) == nil {
			_, _ = s.Prompt.Tinker()
			if s.TargetPromptLogprobs != nil {
				if m, err := s.TargetPromptLogprobs.Targets(); err == nil {
					for i := range min(m.Shape[0], 1<<10) {
						m.Row(i)
					}
				}
			}
			if p, err := s.Params.Tinker(); err == nil && p.MaxTokens < 0 {
				t.Fatalf("max_tokens %d was taken", p.MaxTokens)
			}
		}
	})
}
