package rollout

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
)

// maxLine is the longest line that is read, in bytes: a record of two million tokens.
const maxLine = 64 << 20

// Lines calls visit with each line of r that ended, without its line feed, where it begins and where the next one does.
// A last line without a
// line feed is still being written, and a line longer than MaxLine is none of ours: visit gets nil for it.
// The line is valid until visit returns.
func Lines(ctx context.Context, r io.Reader, visit func(line []byte, at, next int64)) error {
	buf, from, to := make([]byte, 1<<20), 0, 0
	at, read, long := int64(0), int64(0), false // at: of the line; read: of buf[from]
	for {
		for {
			i := bytes.IndexByte(buf[from:to], '\n')
			if i < 0 {
				break
			}
			line := buf[from : from+i]
			if long {
				line, long = nil, false
			}
			from, read = from+i+1, read+int64(i)+1
			visit(line, at, read)
			at = read
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case from > 0:
			copy(buf, buf[from:to])
			from, to = 0, to-from
		case to == len(buf) && len(buf) < maxLine:
			buf = append(buf, make([]byte, len(buf))...)
		case to == len(buf):
			read, to, long = read+int64(to), 0, true
		}
		n, err := r.Read(buf[to:])
		to += n
		if err == io.EOF && n == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
}

// Scan makes the index of a file of records.
func Scan(ctx context.Context, path, name string) (*Segment, error) {
	return ScanAs(ctx, path, name, func(line []byte) ([]byte, error) { return line, nil })
}

// ScanAs makes the index of a file whose lines convert makes records. The texts of its rows are places in those.
func ScanAs(ctx context.Context, path, name string, convert func(line []byte) ([]byte, error)) (*Segment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	s := &Segment{File: name, Size: st.Size(), Time: st.ModTime().UnixNano()}
	known := map[string]string{}
	number := int32(0)
	err = Lines(ctx, io.LimitReader(f, st.Size()), func(line []byte, at, _ int64) {
		s.line(line, at, number, known, convert)
		number++
	})
	if err != nil {
		return nil, fmt.Errorf("rollout: %s: %w", path, err)
	}
	return s, nil
}

// line adds a line's row; one that is no record is counted.
func (s *Segment) line(line []byte, at int64, number int32, known map[string]string,
	convert func(line []byte) ([]byte, error)) {
	if len(bytes.TrimSpace(line)) == 0 && line != nil {
		return
	}
	var row Row
	var parts map[string]float64
	record, err := convert(line)
	if err == nil {
		row, parts, err = Describe(record)
	}
	if line == nil || err != nil {
		s.Bad++
		return
	}
	row.Offset, row.Length, row.Line = at, int32(len(line)), number
	row.Group, row.Stop = intern(known, row.Group), intern(known, row.Stop)
	s.Add(row, parts)
}

func intern(known map[string]string, s string) string {
	if k, ok := known[s]; ok {
		return k
	}
	known[s] = s
	return s
}
