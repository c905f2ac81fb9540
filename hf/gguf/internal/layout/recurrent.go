package layout

// Delta is the shape of a gated delta rule: heads of keys, heads of values, and their widths.
type Delta struct{ Keys, Values, KeyDim, ValueDim int64 }

// Tile is the order in which llama.cpp's converter puts the value heads of a delta rule that has several for each key
// head (class _LinearAttentionVReorderBase of its conversion). A folder has those of a key head together; a file has
// the first of every key head, then the second. A head is Dim rows, or columns, from From on.
type Tile struct {
	Keys, Each, Dim, From int64 // Each value heads have one of Keys key heads
	Columns               bool
}

// Folder is the folder's row, or column, of the file's.
func (t Tile) Folder(i int64) int64 {
	head, at := (i-t.From)/t.Dim, (i-t.From)%t.Dim
	return t.place(i, head%t.Keys*t.Each+head/t.Keys, at)
}

// File is the file's row, or column, of the folder's.
func (t Tile) File(i int64) int64 {
	head, at := (i-t.From)/t.Dim, (i-t.From)%t.Dim
	return t.place(i, head%t.Each*t.Keys+head/t.Each, at)
}

func (t Tile) place(i, head, at int64) int64 {
	if i < t.From {
		return i
	}
	return t.From + head*t.Dim + at
}

// recurrent reports whether layer n has no attention.
func (m Model) recurrent(n int64) bool { return m.Recurrent != nil && m.Recurrent[n] }

// tiled gives a tensor its order of value heads.
func (m Model) tiled(t Tensor, dim, from int64, columns bool) Tensor {
	if d := m.Delta; d.Values != d.Keys {
		t.Tile = &Tile{Keys: d.Keys, Each: d.Values / d.Keys, Dim: dim, From: from, Columns: columns}
	}
	return t
}

// taps is the weights of a convolution over each of some channels.
func (m Model) taps(file, folder string, channels int64) Tensor {
	t := matrix(file, folder, channels, m.Taps)
	t.Stored = []int64{channels, 1, m.Taps}
	return t
}

func (m Model) deltaMatrices() []Tensor {
	d := m.Delta
	keys, values := d.Keys*d.KeyDim, d.Values*d.ValueDim
	return []Tensor{
		m.tiled(matrix("attn_qkv", "linear_attn.in_proj_qkv", 2*keys+values, m.Dim), d.ValueDim, 2*keys, false),
		m.tiled(matrix("attn_gate", "linear_attn.in_proj_z", values, m.Dim), d.ValueDim, 0, false),
		m.tiled(matrix("ssm_beta", "linear_attn.in_proj_b", d.Values, m.Dim), 1, 0, false),
		m.tiled(matrix("ssm_alpha", "linear_attn.in_proj_a", d.Values, m.Dim), 1, 0, false),
		m.tiled(matrix("ssm_out", "linear_attn.out_proj", m.Dim, values), d.ValueDim, 0, true),
	}
}

// deltaVectors lists the parameters of a delta rule that no adapter is on.
func (m Model) deltaVectors() []Tensor {
	d := m.Delta
	keys, values := d.Keys*d.KeyDim, d.Values*d.ValueDim
	return []Tensor{
		m.tiled(m.taps("ssm_conv1d", "linear_attn.conv1d", 2*keys+values), d.ValueDim, 2*keys, false),
		m.tiled(Tensor{File: "ssm_a", Folder: "linear_attn.A_log", Shape: []int64{d.Values}, Decay: true}, 1, 0, true),
		m.tiled(Tensor{File: "ssm_dt.bias", Folder: "linear_attn.dt_bias", Shape: []int64{d.Values}}, 1, 0, true),
		{File: "ssm_norm.weight", Folder: "linear_attn.norm.weight", Shape: []int64{d.ValueDim}},
	}
}
