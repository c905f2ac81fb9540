package grammar

import (
	"encoding/binary"
	"sync"
)

// Limits of a matcher's memory and work.
const (
	mostReadings = 1024 // of a text at once; further ones are not followed
	mostStates   = 8192 // remembered, of 2 KiB each
	mostMasks    = 1024 // remembered, of a bit for each token
)

// Matcher follows texts of a node. It is safe for concurrent use.
type Matcher struct {
	words *Vocabulary
	ends  []int32 // tokens that end a text
	first *state

	mu     sync.Mutex
	frames map[frameKey]*frame
	states map[string]*state
	kept   []*state // in states
	masks  int
	ids    uint32
	dead   state  // stands for none
	key    []byte // of remember
	seen   map[*frame]bool
	path   []*state // of mask
}

// frame is what must follow: a node, then the next frame; nil is the end.
type frame struct {
	frameKey
	id uint32
}

type frameKey struct {
	node *Node
	next *frame
}

// state is all readings of a text, by what must follow.
type state struct {
	heads []*frame // whose node is oneByte
	done  bool     // the text may end here
	next  *[256]*state
	mask  []uint64 // the tokens that may follow, a bit each
}

// New returns a matcher of a node's texts in tokens. Tokens in ends may follow a complete text.
func New(n *Node, words *Vocabulary, ends []int32) (*Matcher, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	m := &Matcher{words: words, ends: ends, seen: map[*frame]bool{}, path: make([]*state, words.longest+1)}
	m.forget()
	s := &state{}
	m.expand(m.frame(n, nil), s)
	m.first = m.remember(s)
	return m, nil
}

// forget drops what is remembered. States that are in use stay and are computed anew.
func (m *Matcher) forget() {
	for _, s := range m.kept {
		s.next, s.mask = nil, nil
	}
	m.frames, m.states, m.kept, m.masks = map[frameKey]*frame{}, map[string]*state{}, nil, 0
}

func (m *Matcher) frame(n *Node, next *frame) *frame {
	key := frameKey{n, next}
	f := m.frames[key]
	if f == nil {
		m.ids++
		f = &frame{frameKey: key, id: m.ids}
		m.frames[key] = f
	}
	return f
}

// expand adds to a state the bytes with which a frame may begin.
func (m *Matcher) expand(f *frame, s *state) {
	if f == nil {
		s.done = true
		return
	}
	if m.seen[f] || len(s.heads) == mostReadings {
		return
	}
	m.seen[f] = true
	switch n := f.node; n.kind {
	case oneByte:
		s.heads = append(s.heads, f)
	case sequence:
		next := f.next
		for i := len(n.list) - 1; i >= 0; i-- {
			next = m.frame(n.list[i], next)
		}
		m.expand(next, s)
	case choice:
		for _, x := range n.list {
			m.expand(m.frame(x, f.next), s)
		}
	case times:
		if n.min == 0 {
			m.expand(f.next, s)
		}
		if n.max != 0 {
			m.expand(m.frame(n.list[0], m.frame(n.oneLess(), f.next)), s)
		}
	}
}

// remember returns the state with the same readings that is known already, or s.
func (m *Matcher) remember(s *state) *state {
	clear(m.seen)
	m.key = append(m.key[:0], 0)
	if s.done {
		m.key[0] = 1
	}
	for _, f := range s.heads {
		m.key = binary.LittleEndian.AppendUint32(m.key, f.id)
	}
	if known := m.states[string(m.key)]; known != nil {
		return known
	}
	if len(m.kept) >= mostStates {
		m.forget()
	}
	m.states[string(m.key)] = s
	m.kept = append(m.kept, s)
	return s
}

// step is the state after a byte; nil if no text continues so.
func (m *Matcher) step(s *state, b byte) *state {
	if s.next == nil {
		s.next = new([256]*state)
	}
	if t := s.next[b]; t == &m.dead {
		return nil
	} else if t != nil {
		return t
	}
	t := &state{}
	for _, f := range s.heads {
		if f.node.set.has(b) {
			m.expand(f.next, t)
		}
	}
	if len(t.heads) == 0 && !t.done {
		s.next[b] = &m.dead
		return nil
	}
	t = m.remember(t)
	if s.next != nil { // else it was forgotten just now
		s.next[b] = t
	}
	return t
}
