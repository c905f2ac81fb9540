package modelfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// What llama.cpp takes for granted of Gemma 3 and a model does otherwise is refused.
func TestGemmaRefused(t *testing.T) {
	for want, change := range map[string]func(*Shape){
		"query_pre_attn_scalar 20 cannot be written": func(s *Shape) { s.Gemma.Query = 20 },
		"scaled RoPE in sliding layers":              func(s *Shape) { s.Gemma.LocalScaled = true },
		"layer_types that do not repeat":             func(s *Shape) { s.Gemma.Sliding = []bool{false, true} },
		"no sliding window":                          func(s *Shape) { s.Gemma = nil },
		"no sliding window of each":                  func(s *Shape) { s.Gemma.Window = 0 },
		"rope_type llama3": func(s *Shape) {
			s.Llama3 = &Llama3{Factor: 8, Low: 1, High: 4, Original: 8192}
		},
		"llama.cpp takes 21 (hidden_size": func(s *Shape) {
			s.Layers, s.Dim, s.Heads, s.Gemma.Sliding = 62, 84, 4, make([]bool, 62)
		},
	} {
		s := gemmaShape(400)
		change(&s)
		if err := s.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := gemmaShape(400)
	s.Layers, s.Dim, s.Heads, s.Gemma.Sliding, s.Gemma.Query = 62, 84, 4, make([]bool, 62), 21
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// The pattern of layers is llama.cpp's default wherever that fits.
func TestPeriod(t *testing.T) {
	for layers, want := range map[string]int{"SSSSSF": 6, "SSSSSFSSSSSFSS": 6, "SS": 6, "SSSSS": 6, "": 6, "F": 1,
		"FF": 1, "SF": 2, "SFSFS": 2, "SSSSSS": 7, "SSSSSSSS": 9, "FS": 0, "SFFS": 0, "SSSSSFF": 0} {
		g := Gemma{}
		for _, c := range layers {
			g.Sliding = append(g.Sliding, c == 'S')
		}
		if got := g.period(); got != want {
			t.Errorf("%s: %d, want %d", layers, got, want)
		}
	}
}

// The types of the published Gemma 3 270M in Q4_K_M, counted in its file: rows of 640 are no multiple of 256.
func TestGemmaMix(t *testing.T) {
	s := Shape{Family: "gemma3_text", Vocab: 262144, Dim: 640, Layers: 18, Heads: 4, KVHeads: 1, HeadDim: 256, FF: 2048,
		Tied: true}
	count := map[gguf.Type]int{}
	for _, x := range s.tensors() {
		count[s.typeOf(x, q4KM)]++
	}
	want := map[gguf.Type]int{gguf.F32: 109, gguf.Q5_0: 81, gguf.Q4_K: 27, gguf.Q8_0: 10, gguf.Q6_K: 9}
	if fmt.Sprint(count) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", count, want)
	}
}

// Gemma's tokenizer.json has a token for pictures behind the last row of a model of text: it is left out. A piece
// beyond the rows is refused, and so are two tokens that would be the same.
func TestGemmaTokens(t *testing.T) {
	const first = `"added_tokens": [`
	dir := changed(t, "gemma", first, first+`{"id": 924, "content": "<image_soft_token>", "special": true, `+
		`"single_word": false, "lstrip": false, "rstrip": false, "normalized": false},`,
		`"added_tokens":[`, `"added_tokens":[{"id":924,"content":"<image_soft_token>","special":true,`+
			`"single_word":false,"lstrip":false,"rstrip":false,"normalized":false},`)
	v, err := readVocabulary(dir, "", 924, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.tokens) != 924 || slices.Contains(v.tokens, "<image_soft_token>") {
		t.Errorf("%d tokens, the last %q", len(v.tokens), v.tokens[len(v.tokens)-1])
	}
	if v, err = readVocabulary(dir, "", 925, nil); err != nil || v.tokens[924] != "<image_soft_token>" {
		t.Errorf("with a row for it: %v", err)
	}
	if _, err = readVocabulary(dir, "", 923, nil); err == nil || !strings.Contains(err.Error(), "has id 923") {
		t.Errorf("a piece without a row: %v", err)
	}
	twice := changed(t, "gemma", `"[multimodal]"`, `"  "`)
	if _, err = readVocabulary(twice, "", 924, nil); err == nil || !strings.Contains(err.Error(), `are both "  "`) {
		t.Errorf("two tokens of two spaces: %v", err)
	}
}
