package buffer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/experience"
)

// Record is a finished group: all experiences of one task of one explore step. A task that failed is a record without
// experiences.
type Record struct {
	Step        int
	Task        string
	Experiences []*experience.Experience
	Metrics     map[string]float64 // of the task as a whole
}

// On disk a record is a header of 12 bytes and a payload. The header is, in little-endian 32-bit words: the length of
// the payload (never 0), its crc32c, and the crc32c of the two words before. With a checksum of its own a header either
// says for certain where the record ends, or is damaged; a damaged length can never pass for a record cut short.
const headerSize = 12

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// appendRecord appends the disk form of r to buf.
func appendRecord(buf []byte, r Record) []byte {
	start := len(buf)
	buf = append(buf, make([]byte, headerSize)...)
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
	header, payload := buf[start:start+headerSize], buf[start+headerSize:]
	binary.LittleEndian.PutUint32(header[0:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(header[4:], castagnoli(payload))
	binary.LittleEndian.PutUint32(header[8:], castagnoli(header[:8]))
	return buf
}

func appendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

// errTorn marks the end of a file that a crash left behind: fewer bytes than the record needs, a last record whose
// bytes did not all reach the disk, or zeros up to the end.
var errTorn = errors.New("torn record")

// nextPayload checks the record at the front of data and returns its payload and what follows. The error is errTorn
// for what a crash can leave, and another one for damage.
func nextPayload(data []byte) (payload, rest []byte, err error) {
	if len(data) < headerSize {
		return nil, nil, errTorn
	}
	header := data[:headerSize]
	if binary.LittleEndian.Uint32(header[8:]) != castagnoli(header[:8]) {
		if allZero(data) {
			return nil, nil, errTorn
		}
		return nil, nil, errors.New("the header's checksum is wrong")
	}
	n := int(binary.LittleEndian.Uint32(header))
	if n > len(data)-headerSize {
		return nil, nil, errTorn
	}
	payload, rest = data[headerSize:headerSize+n], data[headerSize+n:]
	if binary.LittleEndian.Uint32(header[4:]) != castagnoli(payload) {
		if len(rest) == 0 {
			return nil, nil, errTorn
		}
		return nil, nil, errors.New("the record's checksum is wrong")
	}
	return payload, rest, nil
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
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
		return r, fmt.Errorf("buffer: a record of %d bytes is not what its checksum promises; another version of the program wrote it", len(payload))
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
