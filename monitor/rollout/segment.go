package rollout

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
)

// Segment is the index of one file as it was when it had a size and a time of change.
type Segment struct {
	File  string // its name within the folder
	Size  int64
	Time  int64    // of the last change, Unix nanoseconds
	Bad   int      // lines that are no records
	Names []string // of parts
	Rows  []Row
}

// Add adds a row with its parts.
func (s *Segment) Add(row Row, parts map[string]float64) {
	for name := range parts {
		if !slices.Contains(s.Names, name) {
			s.Names = append(s.Names, name)
		}
	}
	row.Parts = make([]float64, len(s.Names))
	for i, name := range s.Names {
		v, ok := parts[name]
		if !ok {
			v = math.NaN()
		}
		row.Parts[i] = v
	}
	s.Rows = append(s.Rows, row)
}

// part is a part of a row by name, NaN if it has none.
func (s *Segment) part(row *Row, name string) float64 {
	if i := slices.Index(s.Names, name); i >= 0 && i < len(row.Parts) {
		return row.Parts[i]
	}
	return math.NaN()
}

// An index file is frames, one for each segment: a mark, the length of the payload and its checksum, then the payload.
// A damaged frame is skipped up to the next mark. The newest segment of a file counts.
var frameMark = []byte("\xf5TRX1\n")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maxFrame limits what a damaged length makes the reader believe.
const maxFrame = 1 << 30

// Append appends the segment's frame.
func (s *Segment) Append(buf []byte) []byte {
	return appendFrame(buf, s.encode(nil))
}

func appendFrame(buf, payload []byte) []byte {
	buf = append(buf, frameMark...)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(payload)))
	buf = binary.LittleEndian.AppendUint32(buf, crc32.Checksum(payload, castagnoli))
	return append(buf, payload...)
}

// segments reads the frames of an index file, and leaves out what is damaged.
func segments(data []byte) []*Segment {
	var list []*Segment
	known := map[string]string{}
	eachFrame(data, func(payload []byte) {
		if s, err := decodeSegment(payload, known); err == nil {
			list = append(list, s)
		}
	})
	return list
}

// eachFrame visits the payloads of the frames that are not damaged.
func eachFrame(data []byte, visit func(payload []byte)) {
	for {
		i := bytes.Index(data, frameMark)
		if i < 0 {
			return
		}
		data = data[i+len(frameMark):]
		if len(data) < 8 {
			return
		}
		n, sum := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
		if n > maxFrame || int(n) > len(data)-8 || crc32.Checksum(data[8:8+n], castagnoli) != sum {
			continue
		}
		visit(data[8 : 8+n])
		data = data[8+n:]
	}
}

// whole is the length of data up to the end of its last whole frame, and of what is none behind that.
func whole(data []byte) int {
	at := 0
	for {
		i := bytes.Index(data[at:], frameMark)
		if i < 0 {
			return max(at, len(data)-len(frameMark)+1) // a mark may begin there
		}
		from := at + i + len(frameMark)
		if len(data)-from < 8 {
			return at + i
		}
		n := int(binary.LittleEndian.Uint32(data[from:]))
		if n > maxFrame {
			at = from
			continue
		}
		if n > len(data)-from-8 {
			return at + i
		}
		at = from + 8 + n
	}
}

// nameAndTime are the file of a segment and the time of its last change.
func nameAndTime(payload []byte) (file string, at int64, err error) {
	d := segmentReader{buf: payload, known: map[string]string{}}
	file = d.text()
	d.varint() // its size
	return file, d.varint(), d.err
}

func (s *Segment) encode(b []byte) []byte {
	b = putText(b, s.File)
	b = binary.AppendVarint(b, s.Size)
	b = binary.AppendVarint(b, s.Time)
	b = binary.AppendVarint(b, int64(s.Bad))
	b = binary.AppendUvarint(b, uint64(len(s.Names)))
	for _, name := range s.Names {
		b = putText(b, name)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Rows)))
	for i := range s.Rows {
		b = s.Rows[i].encode(b)
	}
	return b
}

func putText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (r *Row) encode(b []byte) []byte {
	b = binary.AppendVarint(b, r.Offset)
	for _, v := range []int32{r.Length, r.Text.At, r.Text.Len, r.Line, r.Repeat, r.Turn, r.Task, r.Taskset, r.Version,
		r.Prompt, r.Response, r.Turns, r.ToolCalls} {
		b = binary.AppendVarint(b, int64(v))
	}
	b = putText(putText(b, r.Group), r.Stop)
	b = binary.LittleEndian.AppendUint64(b, r.Key)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Reward))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(r.Advantage))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(r.Entropy))
	b = binary.AppendUvarint(b, uint64(len(r.Parts)))
	for _, v := range r.Parts {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

var errDamaged = errors.New("rollout: the index is damaged")

type segmentReader struct {
	buf   []byte
	known map[string]string // texts seen, which are shared
	err   error
}

// decodeSegment reads a payload. known holds the short texts that rows repeat.
func decodeSegment(payload []byte, known map[string]string) (*Segment, error) {
	d := segmentReader{buf: payload, known: known}
	s := &Segment{File: d.text(), Size: d.varint(), Time: d.varint(), Bad: int(d.varint())}
	for range d.count() {
		s.Names = append(s.Names, d.text())
	}
	n := d.count()
	s.Rows = make([]Row, 0, n)
	parts := make([]float64, 0, n*len(s.Names))
	for range n {
		var r Row
		r, parts = d.row(parts)
		if d.err != nil {
			return nil, d.err
		}
		s.Rows = append(s.Rows, r)
	}
	return s, d.err
}

func (d *segmentReader) row(parts []float64) (Row, []float64) {
	r := Row{Offset: d.varint()}
	for _, p := range []*int32{&r.Length, &r.Text.At, &r.Text.Len, &r.Line, &r.Repeat, &r.Turn, &r.Task, &r.Taskset,
		&r.Version, &r.Prompt, &r.Response, &r.Turns, &r.ToolCalls} {
		*p = int32(d.varint())
	}
	r.Group, r.Stop = d.text(), d.text()
	if b := d.take(24); b != nil {
		r.Key = binary.LittleEndian.Uint64(b)
		r.Reward = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
		r.Advantage = math.Float32frombits(binary.LittleEndian.Uint32(b[16:]))
		r.Entropy = math.Float32frombits(binary.LittleEndian.Uint32(b[20:]))
	}
	from := len(parts)
	for range d.count() {
		if b := d.take(8); b != nil {
			parts = append(parts, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	}
	r.Parts = parts[from:len(parts):len(parts)]
	return r, parts
}

func (d *segmentReader) take(n int) []byte {
	if d.err != nil || n > len(d.buf) {
		d.err, d.buf = errDamaged, nil
		return nil
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

func (d *segmentReader) varint() int64 {
	v, n := binary.Varint(d.buf)
	if n <= 0 {
		d.err, d.buf = errDamaged, nil
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// count reads the number of things that follow, each of at least one byte.
func (d *segmentReader) count() int {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 || v > uint64(len(d.buf)-n) {
		d.err, d.buf = errDamaged, nil
		return 0
	}
	d.buf = d.buf[n:]
	return int(v)
}

func (d *segmentReader) text() string {
	b := d.take(d.count())
	if s, ok := d.known[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(s) <= 32 {
		d.known[s] = s
	}
	return s
}
