package trxp

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What Encode writes, Decode reads. That Trinity-RFT reads it was checked with its own code.
func TestRoundTrip(t *testing.T) {
	want := []Item{
		{map[string]any{"prompt_length": int64(2)}, map[string]Tensor{"tokens": Int32s([]int32{1, -2, 3}),
			"logprobs": Floats([]float32{-0.5}), "action_mask": Bools([]bool{true, false})}},
		{map[string]any{}, map[string]Tensor{"tokens": Int32s([]int32{})}},
	}
	data := Encode(want...)
	got, err := Decode(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	if again := Encode(got...); !bytes.Equal(again, data) {
		t.Error("equal experiences give other bytes")
	}
	tensors := got[0].Tensors
	if list := tensors["tokens"].Int32s(); !slices.Equal(list, []int32{1, -2, 3}) {
		t.Errorf("the tokens are %v", list)
	}
	if tensors["logprobs"].Int32s() != nil || tensors["tokens"].Float32s() != nil {
		t.Error("floats are read as integers, or integers as floats")
	}
}

func TestRefuses(t *testing.T) {
	good := Encode(Item{map[string]any{}, map[string]Tensor{"tokens": Int32s([]int32{1})}})
	for want, data := range map[string][]byte{
		"begins here":    []byte("PK\x03\x04"),
		"has version 2":  append([]byte("TRXP\x02"), good[5:]...),
		"are there":      good[:len(good)-1],
		"trxp: pickle":   bytes.Replace(good, []byte("\x80\x04}"), []byte("\x80\x09}"), 1),
		"of 4 bytes":     bytes.Replace(good, []byte("[0,4]"), []byte("[0,9]"), 1),
		"tensors' heade": bytes.Replace(good, []byte(`{"0:`), []byte(`["0:`), 1),
	} {
		if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(Item{map[string]any{"reward": 1.5}, map[string]Tensor{"tokens": Int32s([]int32{1})}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := Decode(data)
		if err != nil {
			return
		}
		for _, item := range items {
			for _, tensor := range item.Tensors {
				tensor.Int32s()
				tensor.Float32s()
			}
		}
		if _, err := Decode(Encode(items...)); err != nil {
			t.Error(err)
		}
	})
}
