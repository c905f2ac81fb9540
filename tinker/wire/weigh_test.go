package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

var anything = Bounds{Elements: 1 << 30, Depth: 1 << 30}

// Bodies that need the most memory per byte do not take much more than their weight when they are decoded.
func TestWeightsHold(t *testing.T) {
	const n = 20000
	list := func(head, each, tail string) []byte {
		return []byte(head + strings.Repeat(each+",", n-1) + each + tail)
	}
	model := EncodeForwardBackward(ForwardBackward{ModelID: "m", SeqID: 1})
	proto := func(datum []byte) []byte {
		return append(bytes.Clone(model), bytes.Repeat(append([]byte{0x1a, byte(len(datum))}, datum...), n)...)
	}
	into := func(v any) func([]byte) { return func(b []byte) { _ = Decode(b, v) } }
	unfold := func(b []byte) { _, _ = DecodeForwardBackward(b) }
	for _, tt := range []struct {
		name   string
		body   []byte
		weigh  func([]byte, Bounds) (int64, error)
		decode func([]byte)
	}{
		{"empty chunks", list(`{"prompt":{"chunks":[`, `{}`, `]}}`), WeighJSON, into(new(SampleRequest))},
		{"tokens", list(`{"prompt":{"chunks":[{"tokens":[`, `1`, `]}]}}`), WeighJSON, into(new(SampleRequest))},
		{"stop tokens", list(`{"sampling_params":{"stop":[`, `1`, `]}}`), WeighJSON, into(new(SampleRequest))},
		{"empty metadata", list(`{"user_metadata":{"a":[`, `{}`, `]}}`), WeighJSON, into(new(CreateSessionRequest))},
		{"numbers", list(`{"target_prompt_logprobs":{"data":[`, `1`, `]}}`), WeighJSON, into(new(SampleRequest))},
		{"empty protobuf datums", proto(nil), WeighForwardBackward, unfold},
		{"empty protobuf chunks", proto([]byte{0x0a, 0, 0x0a, 0}), WeighForwardBackward, unfold},
		{"empty tensors", proto([]byte{0x12, 7, 0x0a, 1, 'a', 0x12, 2, 0x18, 1}), WeighForwardBackward, unfold},
		{"a sparse tensor", proto(sparseDatum(n))[:len(model)+2+len(sparseDatum(n))], WeighForwardBackward, unfold},
	} {
		weight, err := tt.weigh(tt.body, anything)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tt.decode(tt.body)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 5*uint64(weight) { // with what append discards
			t.Errorf("%s: %d bytes sent, weighed as %d, took %d", tt.name, len(tt.body), weight, took)
		}
	}
}

// sparseDatum has a tensor of shape [1, n] without a value.
func sparseDatum(n int64) []byte {
	csr := append(appendBytes(nil, 1, nil), appendBytes(nil, 2, make([]byte, 16))...)
	tensor := appendInt64s(appendVarint(appendBytes(nil, 2, csr), 3, uint64(Float32)), 4, []int64{1, n})
	return appendBytes(nil, 2, append([]byte{0x0a, 1, 'a'}, appendBytes(nil, 2, tensor)...))
}

func TestBounds(t *testing.T) {
	few := Bounds{Elements: 10, Depth: 3}
	model := EncodeForwardBackward(ForwardBackward{ModelID: "m", SeqID: 1})
	for _, tt := range []struct {
		body string
		want bool // too complex
	}{
		{`{"a":1,"b":[1,2,3,4,5,6,7,8,9,10,11,12]}`, false}, {`{"a":"[[[[[[[[[{{{{{{:::::::::::::\\\"[[["}`, false},
		{`[[[]]]`, false}, {`[[[[]]]]`, true}, {`[{},{},{},{},{},{},{},{},{}]`,
			false}, {`[{},{},{},{},{},{},{},{},{},{}]`, true},
		{`{"a":1,"a":1,"a":1,"a":1,"a":1,"a":1,"a":1,"a":1,"a":1}`,
			false}, {`{"a":1,"a":1,"a":1,"a":1,"a":1,"a":1,"a":1,"a":1,"a":1,"a":1}`, true},
	} {
		if _, err := WeighJSON([]byte(tt.body), few); errors.Is(err, ErrTooComplex) != tt.want || tt.want &&
			!errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", tt.body, err)
		}
	}
	for n, want := range map[int]bool{10: false, 11: true} {
		if _, err := WeighForwardBackward(append(bytes.Clone(model), bytes.Repeat([]byte{0x1a, 0}, n)...),
			few); errors.Is(err, ErrTooComplex) != want {
			t.Errorf("%d datums: %v", n, err)
		}
	}
}

// Anything after the value is refused.
func TestDecodeRefusesWhatFollows(t *testing.T) {
	for _, end := range []string{"}", "]", "{}", "1", `"`, "\x00", ",", ":"} {
		var v map[string]any
		if err := Decode([]byte(`{"a":1}`+end), &v); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q at the end: %v", end, err)
		}
	}
	var v map[string]any
	if err := Decode([]byte(" {\"a\":1}\r\n\t "), &v); err != nil {
		t.Error(err)
	}
}

func TestPeekTraining(t *testing.T) {
	whole := EncodeForwardBackward(ForwardBackward{ModelID: "m:train:0", SeqID: 7, LossFn: "x",
		Data: []tinker.Datum{{ModelInput: tinker.Text([]int32{1, 2})}}})
	for _, tt := range []struct {
		body  string
		proto bool
		want  string
	}{
		{string(whole), true, "m:train:0 7 true"}, {string(whole[:len(whole)-3]), true,
			"m:train:0 7 true"}, {string(whole) + "\x1a\xff", true, "m:train:0 7 true"},
		{string(whole[:11]), true, "m:train:0 0 false"}, {"", true, " 0 false"},
		{`{"model_id":"m","seq_id":7}`, false,
			"m 7 true"}, {`{"x":{"model_id":"n","seq_id":8},"seq_id" : 7 , "model_id" : "m"`, false, "m 7 true"},
		{`{"model_id":"m","seq_id":7`, false, "m 0 false"}, {`{"model_id":"m`, false,
			" 0 false"}, {`{"y":"\"model_id\":","seq_id":7.5,"model_id":"m"}`, false, "m 0 false"},
		{`{"model_id":"m","seq_id":7,"x":tru`, false, "m 7 true"}, {`{"model_id":["m"],"seq_id":"7"}`, false,
			" 0 false"},
	} {
		id, seq, ok := PeekTraining([]byte(tt.body), tt.proto)
		if got := fmt.Sprint(id, " ", seq, " ", ok); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.body, got, tt.want)
		}
	}
}

// Weighing and peeking end for any bytes, and agree with the decoder about JSON.
func FuzzWeigh(f *testing.F) {
	f.Add([]byte(`{"model_id":"m","seq_id":7,"x":[{}]}`))
	f.Add(EncodeForwardBackward(ForwardBackward{ModelID: "m", SeqID: 1,
		Data: []tinker.Datum{{ModelInput: tinker.Text([]int32{1})}}}))
	f.Add(append(EncodeForwardBackward(ForwardBackward{ModelID: "m", SeqID: 1}), append([]byte{0x1a,
		byte(len(sparseDatum(9)))}, sparseDatum(9)...)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = WeighJSON(b, anything)
		if w, _ := WeighForwardBackward(b, anything); w < 0 {
			t.Errorf("weight %d", w)
		}
		PeekTraining(b, true)
		id, seq, ok := PeekTraining(b, false)
		var v struct {
			Model string `json:"model_id"`
			Seq   int64  `json:"seq_id"`
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal(b, &keys) != nil || json.Unmarshal(b, &v) != nil || !ok {
			return
		}
		for k := range keys {
			if k != "model_id" && k != "seq_id" && (strings.EqualFold(k, "model_id") || strings.EqualFold(k,
				"seq_id")) {
				return // encoding/json accepts it as the key
			}
		}
		if bytes.Contains(b, []byte(`\u`)) || bytes.Count(b, []byte("model_id")) > 1 || bytes.Count(b,
			[]byte("seq_id")) > 1 {
			return // keys in another spelling, or twice
		}
		if id != v.Model || seq != v.Seq {
			t.Errorf("%q: peeked %q %d, decoded %q %d", b, id, seq, v.Model, v.Seq)
		}
	})
}
