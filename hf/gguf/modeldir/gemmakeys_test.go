package modeldir

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
)

// What Gemma's files leave out has llama.cpp's defaults; a list of layers counts like a pattern.
func TestGemmaKeys(t *testing.T) {
	key := func(name string, value any) gguf.Pair { return gguf.Pair{Key: "gemma3." + name, Value: value} }
	for _, tt := range []struct {
		keys  []gguf.Pair
		types string
		local float64
	}{
		{nil, "[sliding_attention sliding_attention]", 10000},
		{[]gguf.Pair{key("attention.sliding_window_pattern", uint32(2)), key("rope.freq_base_swa", float32(500))},
			"[sliding_attention full_attention]", 500},
		{[]gguf.Pair{key("attention.sliding_window_pattern", []bool{false, true})},
			"[full_attention sliding_attention]", 10000},
	} {
		dir, err := folder(t, gguftest.Model{Arch: "gemma3", Tied: true, Keys: tt.keys})
		if err != nil {
			t.Fatal(err)
		}
		c := readJSON(t, dir, "config.json")
		if fmt.Sprint(c["layer_types"]) != tt.types || c["rope_local_base_freq"] != tt.local ||
			c["sliding_window"] != float64(gguftest.Window) || c["hidden_activation"] != "gelu_pytorch_tanh" ||
			c["query_pre_attn_scalar"] != float64(gguftest.HeadDim) || c["hidden_act"] != nil {
			t.Errorf("%v: config.json is %v", tt.keys, c)
		}
	}
	for want, k := range map[string]gguf.Pair{
		"attention.sliding_window is missing":          key("attention.sliding_window", nil),
		"sliding_window_pattern has 1 layers":          key("attention.sliding_window_pattern", []bool{true}),
		"final_logit_softcapping is 30":                key("final_logit_softcapping", float32(30)),
		"sliding_window_pattern is 0; it must be 1 to": key("attention.sliding_window_pattern", uint32(0)),
	} {
		if _, err := folder(t, gguftest.Model{Arch: "gemma3", Tied: true, Keys: []gguf.Pair{k}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", k, err, want)
		}
	}
}
