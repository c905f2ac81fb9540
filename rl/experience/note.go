package experience

import (
	"encoding/binary"
	"math"
	"slices"
)

// Note holds what readers want to know of an experience and nothing computes with: it is written down with the samples
// (docs/reference/rollouts.md).
type Note struct {
	Messages  string // the conversation as a JSON array, without the answer of a single turn; or empty
	Truth     string // the reference answer
	Extracted string // what the grader read in the response
	Expected  string // and in the truth
	Board     string // the last state of a game
	Parts     []Part // of the reward
	Turns     int    // of the episode; 0 is one
	ToolCalls int    // in it
	Graded    bool   // Truth, Extracted and Expected are a grader's
}

// Part is one named part of a reward.
type Part struct {
	Name  string
	Value float64
}

func (n *Note) clone() *Note {
	if n == nil {
		return nil
	}
	c := *n
	c.Parts = slices.Clone(n.Parts)
	return &c
}

func appendNote(buf []byte, n *Note) []byte {
	for _, s := range []string{n.Messages, n.Truth, n.Extracted, n.Expected, n.Board} {
		buf = appendString(buf, s)
	}
	buf = appendCount(buf, len(n.Parts), n.Parts == nil)
	for _, p := range n.Parts {
		buf = binary.LittleEndian.AppendUint64(appendString(buf, p.Name), math.Float64bits(p.Value))
	}
	buf = binary.AppendVarint(binary.AppendVarint(buf, int64(n.Turns)), int64(n.ToolCalls))
	if n.Graded {
		return append(buf, 1)
	}
	return append(buf, 0)
}

func (d *decoder) note() *Note {
	n := new(Note)
	for _, s := range []*string{&n.Messages, &n.Truth, &n.Extracted, &n.Expected, &n.Board} {
		*s = d.string("note")
	}
	count, present := d.count("reward parts", 1)
	if present {
		n.Parts = make([]Part, 0, min(count, 64))
	}
	for range count {
		p := Part{d.string("reward parts"), d.float64("reward parts")}
		if d.err != nil {
			return nil
		}
		n.Parts = append(n.Parts, p)
	}
	n.Turns, n.ToolCalls = int(d.varint("turns")), int(d.varint("tool calls"))
	n.Graded = d.byte("graded") == 1
	return n
}
