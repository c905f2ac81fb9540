package arg

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	r := Read(map[string]any{"lr": "1e-6", "n": 3, "on": true, "name": "x", "list": []any{"a", "b"}, "word": "mean",
		"nothing": nil})
	if v := r.Float("lr", 0); v != 1e-6 {
		t.Errorf("lr = %v: text that is a number counts", v)
	}
	if v := r.Int("n", 0, 1); v != 3 {
		t.Errorf("n = %v", v)
	}
	if !r.Bool("on", false) || r.Text("name", "") != "x" || strings.Join(r.Texts("list"), "") != "ab" ||
		r.Word("word", "sum", "mean") != "mean" {
		t.Error("a value that is given was not read")
	}
	if r.Float("nothing", 7) != 7 || r.Given("nothing") || r.Word("absent", "first", "second") != "first" {
		t.Error("a value that is not given has no default")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestWrong(t *testing.T) {
	for _, tt := range []struct {
		values map[string]any
		read   func(*Reader)
		want   string
	}{
		{map[string]any{"tau": "warm"}, func(r *Reader) { r.Float("tau", 1) }, `tau is "warm"; it must be a number`},
		{map[string]any{"tau": math.NaN()}, func(r *Reader) { r.Float("tau", 1) }, "tau is NaN; it must be a number"},
		{map[string]any{"n": 1.5}, func(r *Reader) { r.Int("n", 1, 0) },
			"n is 1.5; it must be a whole number, 0 or more"},
		{map[string]any{"n": 0}, func(r *Reader) { r.Int("n", 1, 1) }, "n is 0; it must be a whole number, 1 or more"},
		{map[string]any{"on": "yes"}, func(r *Reader) { r.Bool("on", false) }, `on is "yes"; it must be true or false`},
		{map[string]any{"name": 3}, func(r *Reader) { r.Text("name", "") }, "name is 3; it must be text"},
		{map[string]any{"list": []any{"a", 1}}, func(r *Reader) { r.Texts("list") },
			"list is [a 1]; it must be a list of texts"},
		{map[string]any{"w": "x"}, func(r *Reader) { r.Word("w", "sum", "mean") },
			`w is "x"; it must be one of sum, mean`},
		{map[string]any{"nu": 1}, func(r *Reader) { r.Float("mu", 0); r.Float("tau", 0) },
			"nu is not an argument; did you mean mu?; there are mu, tau"},
		{map[string]any{"weight": 1}, func(r *Reader) { r.Float("mu", 0); r.Float("tau", 0) },
			"weight is not an argument; there are mu, tau"},
		{map[string]any{"mu": 1}, func(*Reader) {}, "mu is not an argument; there are none"},
		{map[string]any{"a": "x", "b": 1}, func(r *Reader) { r.Float("a", 0) },
			"a is \"x\"; it must be a number\nb is not an argument; did you mean a?; there are a"},
	} {
		r := Read(tt.values)
		tt.read(r)
		if err := r.Close(); err == nil || err.Error() != tt.want {
			t.Errorf("%v: %v, want %q", tt.values, err, tt.want)
		}
	}
}

func TestFloat(t *testing.T) {
	for _, v := range []any{2.5, float32(2.5), "2.5", json.Number("2.5")} {
		if x, ok := Float(v); !ok || x != 2.5 {
			t.Errorf("Float(%v of %T) = %v, %v", v, v, x, ok)
		}
	}
	for _, v := range []any{nil, true, "", "NaN", "2,5", []any{1}, json.Number("x"), math.NaN(), float32(math.NaN())} {
		if x, ok := Float(v); ok {
			t.Errorf("Float(%v of %T) = %v", v, v, x)
		}
	}
}
