package msgpack

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

var limits = bound.Of(1 << 24)

// TestPython reads what msgpack.packb of Python's package msgpack 1.2 writes.
func TestPython(t *testing.T) {
	for text, want := range map[string]any{
		"c0":                 nil,
		"c3":                 true,
		"ff":                 int64(-1),
		"7f":                 int64(127),
		"cc80":               int64(128),
		"d1ff00":             int64(-256),
		"ce00010000":         int64(65536),
		"d2fffeffff":         int64(-65537),
		"cfffffffffffffffff": uint64(math.MaxUint64),
		"cb3ff8000000000000": 1.5,
		"ca3fc00000":         1.5,
		"a26869":             "hi",
		"d903616263":         "abc",
		"c4020001":           []byte{0, 1},
		"d40105":             []byte{5},
		"c7020a0102":         []byte{1, 2},
		"9201a161":           []any{int64(1), "a"},
		"dc000101":           []any{int64(1)},
		"82a16101a162c0":     map[string]any{"a": int64(1), "b": nil},
		"8103a0":             map[string]any{"3": ""},
		"de0001a16190":       map[string]any{"a": []any{}},
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(data, limits); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v; want %#v", text, got, err, want)
		}
		for n := range data { // a value that is cut is an error
			if v, err := Decode(data[:n], limits); err == nil {
				t.Errorf("%s cut after %d bytes is %v", text, n, v)
			}
		}
	}
	for text, want := range map[string]string{"c1": "unknown code c1", "8190c0": "must be a text", "c0c0": "follow",
		"dfffffffff": "too early", strings.Repeat("91", 300) + "c0": "levels of nesting"} {
		data, _ := hex.DecodeString(text)
		if _, err := Decode(data, limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %q", text, err, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 15, 16, 31, 32, 255, 256, 65535, 65536} {
		list, m := make([]any, n), map[string]any{}
		for i := range list {
			list[i] = int64(i - 40)
			m[fmt.Sprint(i)] = true
		}
		for _, v := range []any{strings.Repeat("x", n), []byte(strings.Repeat("x", n)), list, m} {
			data, err := Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Decode(data, limits); err != nil || !reflect.DeepEqual(got, v) {
				t.Errorf("%T of %d: %v", v, n, err)
			}
		}
	}
	for text, want := range map[json.Number]any{"-5": int64(-5), "18446744073709551615": uint64(math.MaxUint64),
		"0.25": 0.25, "1e3": 1000.0} {
		data, err := Encode(text)
		if got, derr := Decode(data, limits); err != nil || derr != nil || got != want {
			t.Errorf("%s: %v, %v, %v", text, got, err, derr)
		}
	}
	if _, err := Encode([]any{make(chan int)}); err == nil {
		t.Error("a channel is written")
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range []string{"82a16101a162c0", "dc000101", "cb3ff8000000000000", "c7020a0102"} {
		data, _ := hex.DecodeString(text)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data, limits)
		if err != nil {
			return
		}
		again, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := Decode(again, limits); err != nil || fmt.Sprint(v) != fmt.Sprint(w) {
			t.Fatalf("%v and %v, %v", v, w, err)
		}
	})
}

// Nested lists that each claim as many values as there are bytes do not take memory for them.
func TestClaimsTakeNoMemory(t *testing.T) {
	data := bytes.Repeat([]byte("\xdd\x00\x00\xff\xff"), limits.Depth)
	data = append(data, make([]byte, 1<<16)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Decode(data, limits); err == nil {
		t.Error("lists that end too early were read")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("%d bytes of data took %d bytes of memory", len(data), n)
	}
}

// What others send takes no more memory than a few times the limit, whatever is in it.
func TestLimits(t *testing.T) {
	small := bound.Of(1 << 16)
	for name, fill := range map[string]string{"numbers": "\x00", "nulls": "\xc0", "lists": "\x90", "maps": "\x80",
		"texts": "\xa0", "maps of one": "\x81\xa0\xc0"} {
		n := 60000 / len(fill)
		data := append([]byte("\xdc"), byte(n>>8), byte(n))
		data = append(data, strings.Repeat(fill, n)...)
		v, err := Decode(data, small)
		if v != nil || err == nil || !strings.Contains(err.Error(), "more than 4096 values") {
			t.Errorf("%d %s: %T, %v", n, name, v, err)
		}
	}
	if _, err := Decode(make([]byte, 1<<16+1), small); err == nil || !strings.Contains(err.Error(), "65536 bytes") {
		t.Error(err)
	}
}
