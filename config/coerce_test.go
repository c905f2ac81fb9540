package config

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// sample has a field of every kind that the schema uses.
type sample struct {
	I      int            `yaml:"i"`
	F      float64        `yaml:"f"`
	B      bool           `yaml:"b"`
	S      string         `yaml:"s"`
	Opt    string         `yaml:"opt,null"`
	PI     *int           `yaml:"pi"`
	L      []float64      `yaml:"l"`
	Any    map[string]any `yaml:"any"`
	Method SyncMethod     `yaml:"method"`
	Names  Strings        `yaml:"names"`
	Sub    *Tinker        `yaml:"sub"`
}

func (s *sample) defaults() { s.I, s.F, s.B, s.S, s.Opt = 5, 0.5, true, "x", "y" }

// decodeSample decodes a text onto a sample with its defaults.
func decodeSample(text string) (sample, document.Problems) {
	var s sample
	setDefaults(&s)
	root, found := document.Read("t", []byte(text), nil, env(), nil)
	if root != nil {
		decodeInto(&s, root, &found)
	}
	return s, found
}

func TestCoercion(t *testing.T) {
	for _, tt := range []struct {
		text string
		get  func(sample) any
		want any
	}{
		{`i: "3"`, func(s sample) any { return s.I }, 3},
		{`i: 0`, func(s sample) any { return s.I }, 0},
		{`i: -7`, func(s sample) any { return s.I }, -7},
		{`i: 1_000`, func(s sample) any { return s.I }, 1000},
		{`i: 0x10`, func(s sample) any { return s.I }, 16},
		{`i: 010`, func(s sample) any { return s.I }, 10},
		{`f: 1e-6`, func(s sample) any { return s.F }, 1e-6},
		{`f: 1.0e-05`, func(s sample) any { return s.F }, 1e-5},
		{`f: 1`, func(s sample) any { return s.F }, 1.0},
		{`f: "0.25"`, func(s sample) any { return s.F }, 0.25},
		{`f: .5`, func(s sample) any { return s.F }, 0.5},
		{`b: off`, func(s sample) any { return s.B }, false},
		{`b: No`, func(s sample) any { return s.B }, false},
		{`b: "0"`, func(s sample) any { return s.B }, false},
		{`b: 1`, func(s sample) any { return s.B }, true},
		{`s: 3`, func(s sample) any { return s.S }, "3"},
		{`s: 1.50`, func(s sample) any { return s.S }, "1.50"},
		{`s: 2026-01-02`, func(s sample) any { return s.S }, "2026-01-02"},
		{`s: ""`, func(s sample) any { return s.S }, ""},
		{`opt: null`, func(s sample) any { return s.Opt }, ""},
		{`pi: 4`, func(s sample) any { return *s.PI }, 4},
		{`pi: ~`, func(s sample) any { return s.PI == nil }, true},
		{`l: [1, 0.9]`, func(s sample) any { return s.L }, []float64{1, 0.9}},
		{`method: ONLINE`, func(s sample) any { return s.Method }, NCCL},
		{`method: offline`, func(s sample) any { return s.Method }, Checkpoint},
		{`method: Memory`, func(s sample) any { return s.Method }, Memory},
		{`names: q_proj`, func(s sample) any { return s.Names }, Strings{"q_proj"}},
		{`names: [a, b]`, func(s sample) any { return s.Names }, Strings{"a", "b"}},
		{`sub: {}`, func(s sample) any { return s.Sub.Rank }, 32},
		{`sub: {rank: 0}`, func(s sample) any { return s.Sub.Rank }, 0},
		{``, func(s sample) any { return s.S }, "x"},
		{"s: |\n  a\n  b\n", func(s sample) any { return s.S }, "a\nb\n"},
		{`s: !!str 12`, func(s sample) any { return s.S }, "12"},
		{`any: {a: 1e-6, b: "1", c: yes, d: null, e: [1, none], f: 2.0, g: 0x1f}`, func(s sample) any { return s.Any },
			map[string]any{"a": 1e-6, "b": "1", "c": true, "d": nil, "e": []any{1, "none"}, "f": 2.0, "g": 31}},
		{`any: {a: .inf}`, func(s sample) any { return s.Any["a"] }, math.Inf(1)},
	} {
		s, found := decodeSample(tt.text)
		if len(found) > 0 {
			t.Errorf("%s: %v", tt.text, found.Err())
			continue
		}
		if got := tt.get(s); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %#v, want %#v", tt.text, got, tt.want)
		}
	}
}

func TestCoercionRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`i: 3.0`, "needs a whole number"},
		{`i: ""`, "needs a whole number"},
		{`i: 99999999999999999999`, "needs a whole number"},
		{`i: 1__0`, "needs a whole number"},
		{`f: .nan`, "needs a number"},
		{`f: .inf`, "needs a number"},
		{`f: 1e999`, "needs a number"},
		{`b: 2`, "needs true or false"},
		{`s: [a]`, "is a list, but needs a text"},
		{`s: null`, "is null, but needs a text"},
		{`l: 3`, "needs a list"},
		{`any: [a]`, "needs a mapping"},
		{`sub: 3`, "needs a mapping"},
		{`method: ncl`, "did you mean nccl?"},
		{`names: {a: b}`, "needs a list"},
		{`i: *none`, "there is no anchor &none"},
		{`i: !binary 3`, "the tag !binary is not known"},
	} {
		if _, found := decodeSample(tt.text); len(found) != 1 || !strings.Contains(found[0].Text, tt.want) {
			t.Errorf("%s: got %v, want one problem with %q", tt.text, found.Err(), tt.want)
		}
	}
}
