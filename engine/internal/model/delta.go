package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// Qwen3.5 differs from Qwen3 (Hugging Face transformers 5.24, models/qwen3_5/modeling_qwen3_5.py):
//
//   - most layers have a gated delta rule (nn.Delta) for attention; what a sequence keeps in them is an nn.Memory;
//   - the attention of the others is multiplied by the logistic of a gate, which q_proj computes beside each query;
//   - queries and keys are rotated in a part of each head;
//   - a norm multiplies by 1+w, except the norm of a delta rule;
//   - config.json has the model of text inside, beside one of images, and so has the name of each tensor.

// hfText is the keys of Qwen3.5's config.json beside those of hfConfig.
type hfText struct {
	Every      *int     `json:"full_attention_interval"`
	Keys       *int     `json:"linear_num_key_heads"`
	Values     *int     `json:"linear_num_value_heads"`
	KeyDim     *int     `json:"linear_key_head_dim"`
	ValueDim   *int     `json:"linear_value_head_dim"`
	Taps       *int     `json:"linear_conv_kernel_dim"`
	Partial    *float64 `json:"partial_rotary_factor"`
	OutputGate *bool    `json:"attn_output_gate"`
	RoPE       *hfRoPE  `json:"rope_parameters"`
}

// innerText returns the keys of the model of text in a config.json with other models around it, with the outer ones
// that count for it; otherwise data.
func innerText(data []byte) ([]byte, error) {
	var outer, text map[string]json.RawMessage
	if err := json.Unmarshal(data, &outer); err != nil {
		return nil, err
	}
	if string(outer["model_type"]) != `"qwen3_5"` || json.Unmarshal(outer["text_config"], &text) != nil {
		return data, nil
	}
	for _, key := range []string{"eos_token_id", "bos_token_id", "dtype", "torch_dtype"} {
		if v, ok := outer[key]; ok && text[key] == nil {
			text[key] = v
		}
	}
	if v, ok := outer["tie_word_embeddings"]; ok {
		if own, ok := text["tie_word_embeddings"]; ok && string(own) != string(v) {
			return nil, fmt.Errorf("tie_word_embeddings = %s and in text_config %s; correct one of them", v, own)
		}
		text["tie_word_embeddings"] = v
	}
	text["architectures"], text["model_type"] = outer["architectures"], outer["model_type"]
	return json.Marshal(text)
}

// delta reads the keys of Qwen3.5.
func (h *hfConfig) delta(c *Config, data []byte) error {
	var t hfText
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	if t.OutputGate != nil && !*t.OutputGate {
		return errors.New("attn_output_gate = false is not supported")
	}
	or := func(v *int, otherwise int) int {
		if v != nil {
			return *v
		}
		return otherwise
	}
	c.Delta = nn.Delta{Keys: or(t.Keys, 16), Values: or(t.Values, 32), KeyDim: or(t.KeyDim, 128),
		ValueDim: or(t.ValueDim, 128), Taps: or(t.Taps, 4), Eps: c.Eps}
	every := or(t.Every, 4)
	c.Linear = make([]bool, min(max(0, h.Layers), 1<<16)) // check refuses other numbers
	if n := len(h.LayerTypes); every < 1 || n > 0 && n != len(c.Linear) {
		return fmt.Errorf("full_attention_interval = %d, layer_types of %d kinds do not fit num_hidden_layers = %d",
			every, n, h.Layers)
	}
	for l := range c.Linear {
		c.Linear[l] = (l+1)%every != 0
		if len(h.LayerTypes) == 0 {
			continue
		}
		kind := h.LayerTypes[l]
		if c.Linear[l] = kind == "linear_attention"; !c.Linear[l] && kind != "full_attention" {
			return fmt.Errorf("layer_types has %q; supported are linear_attention and full_attention", kind)
		}
	}
	return h.deltaRoPE(c, t)
}

func (h *hfConfig) deltaRoPE(c *Config, t hfText) (err error) {
	partial := 0.25
	if t.Partial != nil {
		partial = *t.Partial
	}
	c.RoPE = nn.RoPEConfig{Dim: c.HeadDim, Theta: 10000}
	if h.Theta != nil {
		c.RoPE.Theta = *h.Theta
	}
	if r := t.RoPE; r != nil {
		if r.Partial != 0 {
			partial, r.Partial = r.Partial, 0
		}
		if c.RoPE, err = r.config(c.RoPE); err != nil {
			return err
		}
	}
	c.RoPE.Dim = int(float64(c.HeadDim) * partial)
	if c.RoPE.Dim < 2 || c.RoPE.Dim%2 != 0 || c.RoPE.Dim > c.HeadDim || c.RoPE.Linear != 0 || c.RoPE.Llama3 != nil ||
		h.RopeScaling != nil {
		return fmt.Errorf("partial_rotary_factor = %v, or a scaled rotation, is not supported for %s", partial,
			c.Arch.Name)
	}
	return nil
}

// checkDelta tests the numbers of the delta rules.
func (c Config) checkDelta() error {
	d := c.Delta
	for _, n := range []int{d.Keys, d.Values, d.KeyDim, d.ValueDim} {
		if n < 1 || n > 1<<16 {
			return fmt.Errorf("linear_num_key_heads, linear_num_value_heads and their head_dims are %+v; not sizes", d)
		}
	}
	switch {
	case d.Values%d.Keys != 0:
		return fmt.Errorf("linear_num_value_heads = %d is not a multiple of linear_num_key_heads = %d", d.Values, d.Keys)
	case d.Taps < 1 || d.Taps > 8:
		return fmt.Errorf("linear_conv_kernel_dim = %d is not supported; supported are 1 to 8", d.Taps)
	case len(c.Linear) != c.Layers:
		return fmt.Errorf("num_hidden_layers = %d is not a number of layers", c.Layers)
	}
	return nil
}

// linear reports whether layer l has a delta rule, and place counts the layers of its kind before it.
func (c Config) linear(l int) bool { return c.Arch.Delta && c.Linear[l] }
func (c Config) place(l int) (n int) {
	for i := range l {
		if c.linear(i) == c.linear(l) {
			n++
		}
	}
	return n
}

// fullLayers is the number of layers with attention.
func (c Config) fullLayers() (n int) {
	for l := range c.Layers {
		if !c.linear(l) {
			n++
		}
	}
	return n
}

// Memory is the shape of what a sequence keeps beside its pages; without layers if that is nothing.
func (c Config) Memory() nn.MemoryShape {
	return nn.MemoryShape{Delta: c.Delta, Layers: c.Layers - c.fullLayers()}
}

// MemoryBytes is the size of what a sequence keeps beside its pages.
func (c Config) MemoryBytes() int64 {
	if !c.Arch.Delta {
		return 0
	}
	return int64(c.Memory().Bytes())
}

// qWidth is the width of q_proj: each head's query and, with an output gate, its gate.
func (c Config) qWidth() int {
	if c.Arch.Delta {
		return 2 * c.QDim()
	}
	return c.QDim()
}

// inWidth and outWidth are the widths of what enters a layer's mixer and of what leaves it.
func (c Config) inWidth(l int) int {
	if c.linear(l) {
		return c.Delta.Width()
	}
	return c.qWidth() + 2*c.KVDim()
}

func (c Config) outWidth(l int) int {
	if c.linear(l) {
		return c.Delta.Values * c.Delta.ValueDim
	}
	return c.QDim()
}

// deltaInputs are the projections of a delta rule that a LoRA may be added to.
func deltaInputs(c Config) []projection {
	d := c.Delta
	kd, vd := d.Keys*d.KeyDim, d.Values*d.ValueDim
	return []projection{{"in_proj_q", kd, 0}, {"in_proj_k", kd, kd}, {"in_proj_v", vd, 2 * kd},
		{"in_proj_z", vd, d.Channels()}, {"in_proj_b", d.Values, d.Channels() + vd},
		{"in_proj_a", d.Values, d.Channels() + vd + d.Values}}
}

// storedInputs are the projections of a mixer's input as files have them.
func storedInputs(c Config, l int) []projection {
	if !c.linear(l) {
		return attnInputs(c)
	}
	d := c.Delta
	vd := d.Values * d.ValueDim
	z := d.Channels()
	return []projection{{"in_proj_qkv", z, 0}, {"in_proj_z", vd, z}, {"in_proj_b", d.Values, z + vd},
		{"in_proj_a", d.Values, z + vd + d.Values}}
}

// deltaVectors lists the parameters of a delta rule outside its linears.
func deltaVectors(c Config) []spec {
	d := c.Delta
	return []spec{{"linear_attn.conv1d.weight", []int{d.Channels(), 1, d.Taps}}, {"linear_attn.A_log", []int{d.Values}},
		{"linear_attn.dt_bias", []int{d.Values}}, {"linear_attn.norm.weight", []int{d.ValueDim}}}
}

// KeepsPrecision reports whether a parameter stays float32 beside weights in bf16.
func KeepsPrecision(name string) bool {
	return strings.HasSuffix(name, ".linear_attn.A_log") || strings.HasSuffix(name, ".linear_attn.norm.weight")
}

// textName returns the name that a tensor of a folder has in a model of text: files of models with images have one
// more part. Tensors of other models are not ok.
func textName(name string) (text string, ok bool) {
	if strings.HasPrefix(name, "model.visual.") || strings.HasPrefix(name, "mtp.") || strings.HasPrefix(name, "model.mtp.") {
		return "", false
	}
	if rest, ok := strings.CutPrefix(name, "model.language_model."); ok {
		return "model." + rest, true
	}
	return name, true
}

// deltaWeights are the weights of a delta rule, and A_log as it is stored.
type deltaWeights struct {
	nn.DeltaWeights
	log []float32
}

func (p packer) delta(at string) *deltaWeights {
	d := p.c.Delta
	conv := p.vector(at + "linear_attn.conv1d.weight")
	w := &deltaWeights{log: p.floats(at + "linear_attn.A_log")}
	w.Conv, w.Decay = make([]float32, len(conv)), make([]float32, d.Values)
	for i, v := range conv {
		w.Conv[i%d.Taps*d.Channels()+i/d.Taps] = v
	}
	for i, v := range w.log {
		w.Decay[i] = float32(elementary.Exp(float64(v)))
	}
	w.Bias, w.Norm = p.vector(at+"linear_attn.dt_bias"), p.floats(at+"linear_attn.norm.weight")
	return w
}

// store writes the weights by the names of their parameters.
func (w *deltaWeights) store(c Config, at string, data map[string][]float32) {
	conv := make([]float32, len(w.Conv))
	for i := range conv {
		conv[i] = w.Conv[i%c.Delta.Taps*c.Delta.Channels()+i/c.Delta.Taps]
	}
	data[at+"linear_attn.conv1d.weight"], data[at+"linear_attn.A_log"] = conv, w.log
	data[at+"linear_attn.dt_bias"], data[at+"linear_attn.norm.weight"] = w.Bias, w.Norm
}

// eachDelta runs f for each key head of each tree of sequences, in parallel.
func (p *pass) eachDelta(l int, f func(on nn.Products, ws *nn.Workspace, root, head int)) {
	n := p.w.Config.Delta.Keys
	for i := range p.stretches {
		p.stretches[i].Layer = p.w.Config.place(l)
	}
	p.P.Run(len(p.roots)*n, func(i int, sc *kernel.Scratch) {
		ws := p.ws.Get()
		f(nn.Products{K: p.K, SC: sc}, ws, p.roots[i/n], i%n)
		p.ws.Put(ws)
	})
}

// recur computes the delta rule of layer l, if it has one.
func (p *pass) recur(l int) {
	c := p.w.Config
	if !c.linear(l) {
		return
	}
	p.eachDelta(l, func(on nn.Products, ws *nn.Workspace, root, head int) {
		c.Delta.Forward(on, ws, &p.w.layers[l].delta.DeltaWeights, p.layers[l].delta, p.stretches, p.prev, root, head)
	})
}

// recurBackward computes d.dIn of a mixer from the gradient of its result.
func (p *pass) recurBackward(l int) {
	d := &p.back
	p.eachDelta(l, func(on nn.Products, ws *nn.Workspace, root, head int) {
		g := nn.DeltaGrads{DY: d.dmixed, DIn: d.ddelta, DConv: d.dconv, DNormed: d.dgated, DLog: d.dlog}
		p.w.Config.Delta.Backward(on, ws, &p.w.layers[l].delta.DeltaWeights, p.layers[l].delta, g, p.stretches, p.prev,
			root, head)
	})
}

// deltaTasks puts the gradients of the parameters of a delta rule outside its linears on the list.
func (p *pass) deltaTasks(l int, g *Grads) {
	c, s, b := p.w.Config, &p.layers[l].delta, &p.back
	at := fmt.Sprintf("model.layers.%d.linear_attn.", l)
	p.addBias(g.of(at+"dt_bias"), b.ddelta, c.Delta.Width()-c.Delta.Values)
	p.addBias(g.of(at+"A_log"), b.dlog, 0)
	run := func(out []float32, f func()) {
		if out != nil {
			b.tasks = append(b.tasks, gradTask{run: func(*kernel.Set, *kernel.Scratch) { f() }})
		}
	}
	norm, conv := g.of(at+"norm.weight"), g.of(at+"conv1d.weight")
	run(norm, func() {
		n := c.Delta.ValueDim
		tmp := make([]float32, n)
		for t := range s.Out.Len() {
			for v := 0; v < s.Out.Cols; v += n {
				x := s.Out.Row(t)[v:][:n]
				inv := p.K.RMSNorm(tmp, x, p.w.layers[l].delta.Norm, c.Eps)
				nn.RMSNormGrad(p.K, norm, b.dgated.Row(t)[v:][:n], x, inv, tmp)
			}
		}
	})
	run(conv, func() {
		for t := range s.In.Len() {
			for back, from := 0, t; back < c.Delta.Taps && from >= 0; back, from = back+1, p.prev[from] {
				dy, x := b.dconv.Row(t), s.In.Row(from)
				for i, v := range dy {
					at := i*c.Delta.Taps + c.Delta.Taps - 1 - back
					conv[at] += float32(v * x[i])
				}
			}
		}
	})
}

// gate multiplies attention by the logistic of its gate; gateBackward computes the gradients of both.
func (p *pass) gate(l, a, b int) {
	s := &p.layers[l]
	for t := a; t < b; t++ {
		out := s.gated.Row(t)
		p.gates(l, t, out)
		p.K.Mul(out, out, s.att.Row(t))
	}
}

// gates writes the logistic of row t's gates.
func (p *pass) gates(l, t int, out []float32) {
	hd, row := p.w.Config.HeadDim, p.layers[l].qkv.Row(t)
	for h := 0; h < len(out)/hd; h++ {
		copy(out[h*hd:][:hd], row[(2*h+1)*hd:])
	}
	p.K.Scale(out, -1)
	p.K.Exp(out, out)
	for i, e := range out {
		out[i] = 1 / (1 + e)
	}
}

func (p *pass) gateBackward(l, a, b int) {
	s, d, hd := &p.layers[l], &p.back, p.w.Config.HeadDim
	gates := make([]float32, s.att.Cols)
	for t := a; t < b; t++ {
		p.gates(l, t, gates)
		dy, datt, att, dqkv := d.dmixed.Row(t), d.datt.Row(t), s.att.Row(t), d.dwide.Row(t)
		p.K.Mul(datt, dy, gates)
		for i, g := range gates {
			dqkv[(2*(i/hd)+1)*hd+i%hd] = float32(float32(datt[i]*att[i]) * (1 - g))
		}
	}
}

// widen copies the gradients of queries, keys and values to their places beside the gates.
func (p *pass) widen(a, b int) {
	c, d := p.w.Config, &p.back
	for t := a; t < b; t++ {
		from, to := d.dqkv.Row(t), d.dwide.Row(t)
		for h := range c.Heads {
			copy(to[2*h*c.HeadDim:][:c.HeadDim], from[h*c.HeadDim:])
		}
		copy(to[c.qWidth():], from[c.QDim():])
	}
}

// modulesOn returns the names of the linears of a model that have an addition.
func (l LoRA) modulesOn(c Config) []string {
	list := l.Targets()
	if c.Arch.Delta && l.Attn && len(l.Modules) == 0 {
		list = append(list, deltaModules[:5]...)
	}
	return list
}

// withoutDelta returns list without the names of a delta rule.
func withoutDelta(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return slices.Contains(deltaModules, n) })
}

// mixer and outName are where the linears of layer l's mixer are, and the last of them.
func (c Config) mixer(l int) string {
	if c.linear(l) {
		return "linear_attn."
	}
	return "self_attn."
}

func (c Config) outName(l int) string {
	if c.linear(l) {
		return "out_proj"
	}
	return "o_proj"
}

// inputs is the most projections of a mixer's input that a LoRA is added to.
func (c Config) inputs() int {
	if c.Arch.Delta {
		return 6
	}
	return 3
}

// headAt is the column of query head h, or of key head h-Heads, in what a layer projects.
func (c Config) headAt(h int) int {
	switch {
	case h >= c.Heads:
		return c.qWidth() + (h-c.Heads)*c.HeadDim
	case c.Arch.Delta:
		return 2 * h * c.HeadDim
	}
	return h * c.HeadDim
}

// mixed is what the first linear of a layer gives, answered what enters the last one of its mixer, and dMixed the
// gradient of mixed.
func (p *pass) mixed(l int) nn.Rows {
	if p.w.Config.linear(l) {
		return p.layers[l].delta.In
	}
	return p.layers[l].qkv
}

func (p *pass) answered(l int) nn.Rows {
	switch {
	case p.w.Config.linear(l):
		return p.layers[l].delta.Y
	case p.w.Config.Arch.Delta:
		return p.layers[l].gated
	}
	return p.layers[l].att
}

func (p *pass) dMixed(l int) nn.Rows {
	switch {
	case p.w.Config.linear(l):
		return p.back.ddelta
	case p.w.Config.Arch.Delta:
		return p.back.dwide
	}
	return p.back.dqkv
}

// answered is the gradient of what enters the last linear of a mixer.
func (d *backBuffers) answered(c Config) nn.Rows {
	if c.Arch.Delta {
		return d.dmixed
	}
	return d.datt
}

// checkMemory returns an error for sequences whose memory does not fit.
func (p *pass) checkMemory() error {
	want := p.w.Config.Memory().Floats()
	for _, i := range p.roots {
		s := p.seqs[i]
		switch {
		case s.Memory == nil && s.Pos > 0:
			return fmt.Errorf("model: sequence %d begins at position %d without a memory of those before", i, s.Pos)
		case s.Memory != nil && (len(s.Memory.Data) != want || len(s.Next) > 0):
			return fmt.Errorf("model: the memory of sequence %d has %d floats, want %d, or others continue it", i,
				len(s.Memory.Data), want)
		}
	}
	return nil
}
