package modeldir

import "fmt"

// gemma3 has the settings of Gemma's models alone.
type gemma3 struct {
	window     int64
	sliding    []bool // by layer
	localTheta float64
	query      float64 // query_pre_attn_scalar
}

// readGemma reads the keys of Gemma 3. Defaults are llama.cpp's (the loader in llama-model.cpp): some files have
// neither the pattern nor the local frequencies.
func (s *shape) readGemma(r *reader) {
	g := &gemma3{window: r.int("attention.sliding_window", 1<<31, 0), localTheta: r.float("rope.freq_base_swa", 10000),
		query: float64(s.headDim)}
	if s.layers == 62 { // the model of 27 billion; there is no key for it
		g.query = float64(s.dim) / float64(s.heads)
	}
	for _, key := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		x, ok, err := r.m.Float(r.arch + "." + key)
		if ok && x != 0 {
			err = fmt.Errorf("the key %s.%s is %v, which is not supported; it must be 0", r.arch, key, x)
		}
		if r.err == nil {
			r.err = err
		}
	}
	s.gemma, g.sliding = g, s.pattern(r)
}

// pattern tells which layers slide: a list, or every which layer does not.
func (s *shape) pattern(r *reader) []bool {
	const key = "attention.sliding_window_pattern"
	if list, ok, err := r.m.Bools(r.arch + "." + key); ok && err == nil {
		if int64(len(list)) != s.layers && r.err == nil {
			r.err = fmt.Errorf("the key %s.%s has %d layers; the model has %d", r.arch, key, len(list), s.layers)
		}
		return list
	}
	n := r.int(key, 512, 6)
	list := make([]bool, s.layers)
	for i := range list {
		list[i] = int64(i)%n < n-1
	}
	return list
}

// configure completes config.json.
func (g *gemma3) configure(c map[string]any) {
	types := make([]string, len(g.sliding))
	for i, sliding := range g.sliding {
		if types[i] = "full_attention"; sliding {
			types[i] = "sliding_attention"
		}
	}
	delete(c, "hidden_act")
	c["hidden_activation"], c["layer_types"], c["sliding_window"] = "gelu_pytorch_tanh", types, g.window
	c["rope_local_base_freq"], c["query_pre_attn_scalar"] = g.localTheta, g.query
}
