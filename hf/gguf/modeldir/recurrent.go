package modeldir

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
)

// readConvolutions reads which layers of LFM2 have a convolution for attention: those without key heads.
func (s *shape) readConvolutions(r *reader) {
	const key = "lfm2.attention.head_count_kv"
	list, _, err := r.m.Ints(key)
	if s.kvHeads = 1; err == nil && int64(len(list)) != s.layers {
		err = fmt.Errorf("the key %s has %d numbers; the model has %d layers", key, len(list), s.layers)
	}
	for _, n := range list {
		if s.recurrent = append(s.recurrent, n == 0); n != 0 {
			s.kvHeads = n
		}
	}
	if err == nil && slices.ContainsFunc(list, func(n int64) bool { return n != 0 && n != s.kvHeads || n < 0 }) {
		err = fmt.Errorf("the key %s is %v; that layers with attention have other numbers of key heads is not "+
			"supported", key, list)
	}
	if s.taps = r.int("shortconv.l_cache", 1<<8, 0); r.err == nil {
		r.err = err
	}
}

// readDelta reads the keys of Qwen3.5. Some files have the layers of multi-token prediction behind the others; they are
// left out.
func (s *shape) readDelta(r *reader) {
	d := &s.delta
	d.Keys, d.Values = r.int("ssm.group_count", 1<<14, 0), r.int("ssm.time_step_rank", 1<<14, 0)
	d.KeyDim = r.int("ssm.state_size", 1<<14, 0)
	inner := r.int("ssm.inner_size", 1<<24, 0)
	d.ValueDim, s.taps = inner/d.Values, r.int("ssm.conv_kernel", 1<<8, 0)
	if n, ok, err := r.m.Int("qwen35.nextn_predict_layers"); err != nil || ok && (n < 0 || n >= s.layers) {
		r.err = fmt.Errorf("the key qwen35.nextn_predict_layers is %d of %d layers (%v)", n, s.layers, err)
	} else {
		s.layers -= n
	}
	every := r.int("full_attention_interval", 512, 4)
	for l := range s.layers {
		s.recurrent = append(s.recurrent, (l+1)%every != 0)
	}
	const key = "qwen35.attention.recurrent_layers"
	list, ok, err := r.m.Bools(key)
	switch {
	case r.err != nil:
	case err != nil:
		r.err = err
	case ok && int64(len(list)) < s.layers:
		r.err = fmt.Errorf("the key %s has %d layers; the model has %d", key, len(list), s.layers)
	case ok:
		copy(s.recurrent, list)
	}
	if r.err == nil && (d.Values%d.Keys != 0 || d.ValueDim*d.Values != inner) {
		r.err = fmt.Errorf("%d heads of values for %d of keys, and a width of %d, are not supported", d.Values, d.Keys,
			inner)
	}
}

// configureRecurrent completes config.json.
func (s *shape) configureRecurrent(c map[string]any) {
	kind, types := "linear_attention", make([]string, s.layers)
	if s.kind == layout.LFM2 {
		kind = "conv"
		c["norm_eps"], c["conv_L_cache"], c["conv_bias"] = c["rms_norm_eps"], s.taps, false
		c["block_ff_dim"], c["block_auto_adjust_ff_dim"], c["tie_embedding"] = s.ff, false, s.tied
		delete(c, "rms_norm_eps")
	} else {
		d := s.delta
		c["linear_conv_kernel_dim"], c["linear_num_key_heads"], c["linear_num_value_heads"] = s.taps, d.Keys, d.Values
		c["linear_key_head_dim"], c["linear_value_head_dim"] = d.KeyDim, d.ValueDim
		c["rope_parameters"] = map[string]any{"rope_type": "default", "rope_theta": s.theta,
			"partial_rotary_factor": float64(s.rotated) / float64(s.headDim)}
		delete(c, "rope_theta")
		delete(c, "rope_scaling")
	}
	for l, recurrent := range s.recurrent {
		if types[l] = "full_attention"; recurrent {
			types[l] = kind
		}
	}
	c["layer_types"] = types
}

// beyond reports whether a tensor is of a layer of multi-token prediction.
func (s *shape) beyond(name string) bool {
	var layer int64
	_, err := fmt.Sscanf(name, "blk.%d.", &layer)
	return err == nil && s.kind == layout.Qwen35 && layer >= s.layers
}
