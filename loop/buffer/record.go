package buffer

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Record is a finished group: all experiences of one task of one explore step. A task that failed is a record without
// experiences.
type Record struct {
	Step        int
	Task        string
	Experiences []*experience.Experience
	Metrics     map[string]float64 // of the task as a whole
}

// appendRecord appends the stored form of r to buf.
func appendRecord(buf []byte, r Record) []byte {
	buf = binary.AppendUvarint(buf, uint64(r.Step))
	buf = appendText(buf, r.Task)
	buf = binary.AppendUvarint(buf, uint64(len(r.Metrics)))
	for _, k := range slices.Sorted(maps.Keys(r.Metrics)) {
		buf = appendText(buf, k)
		buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(r.Metrics[k]))
	}
	buf = binary.AppendUvarint(buf, uint64(len(r.Experiences)))
	for _, e := range r.Experiences {
		buf = experience.Append(buf, e)
	}
	return buf
}

func appendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

// decodeRecord is the inverse of appendRecord on a payload.
func decodeRecord(payload []byte) (Record, error) {
	p := payloadReader{b: payload}
	r := Record{Step: int(p.uvarint()), Task: p.text()}
	n := p.uvarint()
	if n > 0 {
		r.Metrics = make(map[string]float64)
	}
	for ; n > 0 && !p.bad; n-- {
		k := p.text()
		r.Metrics[k] = p.float()
	}
	n = p.uvarint()
	for ; n > 0 && !p.bad; n-- {
		e, rest, err := experience.Decode(p.b)
		if err != nil {
			return r, err
		}
		p.b = rest
		r.Experiences = append(r.Experiences, e)
	}
	if p.bad || len(p.b) != 0 {
		return r, fmt.Errorf("buffer: a record of %d bytes is not what its checksum promises; another version of the "+
			"program wrote it", len(payload))
	}
	return r, nil
}

// payloadReader consumes b from the front; bad stays true after the first failure.
type payloadReader struct {
	b   []byte
	bad bool
}

func (p *payloadReader) uvarint() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.bad, p.b = true, nil
		return 0
	}
	p.b = p.b[n:]
	return v
}

func (p *payloadReader) take(n uint64) []byte {
	if n > uint64(len(p.b)) {
		p.bad, p.b = true, nil
		return nil
	}
	out := p.b[:n]
	p.b = p.b[n:]
	return out
}

func (p *payloadReader) text() string { return string(p.take(p.uvarint())) }

func (p *payloadReader) float() float64 {
	b := p.take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
