package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// MemoryShape is the shape of what a sequence keeps in the layers of a model that have a Delta.
type MemoryShape struct {
	Delta
	Layers int // with a Delta
}

// Memory is what a sequence keeps of the positions before a call: S of each value head before the last page, of this
// page the keys, the corrections u and the sums of g, and the inputs of the last Taps-1 positions. It is zero before
// the first position, and a function of the tokens: a copy continues another sequence.
type Memory struct {
	Data []float32
	Sums []float64
}

func (s MemoryShape) head() int   { return kernel.PanelBytes(s.ValueDim, s.KeyDim, false) / 4 }
func (s MemoryShape) window() int { return (s.Taps - 1) * s.Channels() }
func (s MemoryShape) layer() int {
	return s.Values*s.head() + (s.keys()+s.values())*kernel.PageLen + s.window()
}

// Floats is the length of a Memory's Data, and Bytes is the size of a Memory.
func (s MemoryShape) Floats() int { return s.Layers * s.layer() }
func (s MemoryShape) Bytes() int  { return 4*s.Floats() + 8*s.sums() }
func (s MemoryShape) sums() int   { return s.Layers * s.Values * kernel.PageLen }

// New returns the memory of a sequence without positions.
func (s MemoryShape) New() *Memory {
	return &Memory{Data: kernel.Aligned(s.Floats()), Sums: make([]float64, s.sums())}
}

// Clear makes m the memory of a sequence without positions.
func (m *Memory) Clear() {
	clear(m.Data)
	clear(m.Sums)
}

// Copy makes m equal to from.
func (m *Memory) Copy(from *Memory) {
	copy(m.Data, from.Data)
	copy(m.Sums, from.Sums)
}

// open returns the open page of a key head.
func (s MemoryShape) open(m *Memory, layer, head int) *deltaOpen {
	data := m.Data[layer*s.layer():][:s.layer()]
	keys := data[s.Values*s.head():]
	o := &deltaOpen{keys: keys[head*s.KeyDim*kernel.PageLen:][:s.KeyDim*kernel.PageLen]}
	u := keys[s.keys()*kernel.PageLen:]
	for g := range s.group() {
		value := head*s.group() + g
		o.state = append(o.state, data[value*s.head():][:s.head()])
		o.u = append(o.u, u[value*s.ValueDim*kernel.PageLen:][:s.ValueDim*kernel.PageLen])
		o.sums = append(o.sums, m.Sums[(layer*s.Values+value)*kernel.PageLen:][:kernel.PageLen])
	}
	o.into = o.state
	return o
}

// deltaWindow is the inputs [Taps-1,Channels] of the positions before pos, which row from of a pass has.
type deltaWindow struct {
	from, pos int
	rows      []float32
}

// remembered computes a stretch with a memory, which it continues.
func (h *deltaHead) remembered(s *Stretch) {
	shape := MemoryShape{h.Delta, len(s.Memory.Data) / MemoryShape{h.Delta, 1}.layer()}
	end := (s.Layer + 1) * shape.layer()
	m := &deltaWindow{from: s.From, pos: s.Pos, rows: s.Memory.Data[end-shape.window() : end]}
	h.walk(s, shape.open(s.Memory, s.Layer, h.head), m)
	for i := range h.Taps - 1 { // upward: a row that stays moves to an earlier place
		row := m.rows[i*h.Channels():][:h.Channels()]
		if p := h.behind(s.To, h.Taps-1-i, m); p != nil {
			h.each(func(at, n int) { copy(row[at:at+n], p[at:at+n]) })
		}
	}
}

// each calls f for the stretches of channels of the key head and of its value heads.
func (h *deltaHead) each(f func(at, n int)) {
	f(h.head*h.KeyDim, h.KeyDim)
	f(h.keys()+h.head*h.KeyDim, h.KeyDim)
	n := h.group() * h.ValueDim
	f(2*h.keys()+h.head*n, n)
}
