package modeldir

import "fmt"

// readSinks reads what gpt-oss alone has. Its experts are as wide as feed_forward_length in transformers. llama.cpp
// has the clamp of experts and the pattern of windows in its code.
func (s *shape) readSinks(r *reader) {
	if s.window = r.int("attention.sliding_window", 1<<31, 0); s.ff != s.expertFF && r.err == nil {
		r.err = fmt.Errorf("the key %s.expert_feed_forward_length is %d and feed_forward_length %d; that they differ "+
			"is not supported", r.arch, s.expertFF, s.ff)
	}
}

// configureSinks adds the keys of gpt-oss to config.json.
func (s *shape) configureSinks(c map[string]any) {
	types := make([]string, s.layers)
	for l := range types {
		types[l] = []string{"sliding_attention", "full_attention"}[l%2]
	}
	c["num_local_experts"], c["num_experts_per_tok"] = s.experts, s.used
	c["attention_bias"], c["sliding_window"], c["layer_types"] = true, s.window, types
	c["swiglu_limit"], c["swiglu_alpha"] = 7, 1.702
	if s.mxfp4 {
		c["quantization_config"] = map[string]any{"quant_method": "mxfp4", "modules_to_not_convert": []string{
			"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}}
	}
	if s.scaling == nil { // without the key, transformers scales as yarn does
		c["rope_scaling"] = map[string]any{"rope_type": "default"}
	}
}
