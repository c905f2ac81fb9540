package modeldir

import "errors"

// readGranite reads the factors of Granite.
func (s *shape) readGranite(r *reader) {
	s.granite = map[string]any{"attention_multiplier": r.float("attention.scale", 1)}
	for key, name := range map[string]string{"embedding_scale": "embedding_multiplier",
		"residual_scale": "residual_multiplier", "logit_scale": "logits_scaling"} {
		s.granite[name] = r.float(key, 1)
	}
	switch turned, ok, err := r.m.Bool("granite.rope.scaling.finetuned"); {
	case r.err != nil:
	case err != nil:
		r.err = err
	case !r.m.Has("granite.attention.scale"):
		r.err = errors.New("the key granite.attention.scale is missing; convert the model again")
	case ok && !turned:
		r.err = errors.New("granite.rope.scaling.finetuned is false: that no layer rotates is not supported in GGUF " +
			"files; use the model's Hugging Face folder")
	}
}
