package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// The functions here find where the rows of a text file start. They look at structure only, at the speed at which the
// file can be read; whether a row is well formed shows when it is read.

// index finds where the rows start, reading the file once from front to back.
func (f *file) index(ext string) error {
	r := bufio.NewReaderSize(f.data, 1<<18)
	if ext == ".csv" {
		f.format = csvTable
		return f.indexCSV(r)
	}
	if ext == ".json" {
		if head, _ := r.Peek(1 << 16); bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff"))),
			[]byte("[")) {
			f.format = jsonArray
			return f.indexArray(r)
		}
	}
	return f.indexLines(r)
}

func (f *file) indexLines(r *bufio.Reader) error {
	var at int64
	for {
		blank, n, err := skipLine(r)
		if !blank {
			f.starts = append(f.starts, at)
		}
		at += n
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("dataset: cannot read %s: %w", f.path, err)
		}
	}
}

// skipLine reads past one line of any length and returns how long it was and whether it was blank.
func skipLine(r *bufio.Reader) (blank bool, n int64, err error) {
	blank = true
	for {
		part, err := r.ReadSlice('\n')
		n += int64(len(part))
		blank = blank && len(bytes.TrimSpace(part)) == 0
		if err != bufio.ErrBufferFull {
			return blank, n, err
		}
	}
}

// arrayScan is the state of a scan of a JSON array.
type arrayScan struct {
	depth   int  // brackets that are open; 1 between elements
	text    bool // inside a string
	escaped bool // behind a backslash in it
	element bool // inside an element
}

func (f *file) indexArray(r *bufio.Reader) error {
	var s arrayScan
	buf := make([]byte, 1<<18)
	for at := int64(0); ; {
		n, err := r.Read(buf)
		f.starts = s.scan(buf[:n], at, f.starts)
		at += int64(n)
		switch {
		case err != nil && err != io.EOF:
			return fmt.Errorf("dataset: cannot read %s: %w", f.path, err)
		case err == nil || s.depth == 0:
		case s.element:
			return fmt.Errorf("dataset: %s: element %d of the array is cut off", f.Place(len(f.starts)-1),
				len(f.starts)-1)
		default:
			return fmt.Errorf("dataset: %s: the array is not closed", f.lineAt(at))
		}
		if err == io.EOF {
			return nil
		}
	}
}

// scan continues through b, which is at offset at of the file, and appends where elements start.
func (s *arrayScan) scan(b []byte, at int64, starts []int64) []int64 {
	for i := 0; i < len(b); i++ {
		if s.text {
			i += s.skipText(b[i:])
			continue
		}
		c := b[i]
		if s.depth == 1 {
			switch c {
			case ' ', '\t', '\n', '\r', ',', ']':
				s.element = false
			default:
				if !s.element {
					s.element = true
					starts = append(starts, at+int64(i))
				}
			}
		}
		switch c {
		case '"':
			s.text = true
		case '[', '{':
			s.depth++
		case ']', '}':
			if s.depth--; s.depth == 0 {
				s.depth, s.element = 0, false
				return starts
			}
		}
	}
	return starts
}

// skipText returns the index of the quote that ends a string, or of the last byte.
func (s *arrayScan) skipText(b []byte) int {
	for i, c := range b {
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.text = false
			return i
		}
	}
	return len(b) - 1
}

// indexCSV finds the records of a table: lines, unless the line's end is inside quotes. Empty lines are no records.
func (f *file) indexCSV(r *bufio.Reader) error {
	var at, start int64 // of this piece, and of the record it belongs to
	line, first := 1, 1
	commas, quoted, empty := 0, false, true
	for {
		part, err := r.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return fmt.Errorf("dataset: cannot read %s: %w", f.path, err)
		}
		n, q := countCommas(part, quoted)
		commas, quoted = commas+n, q
		empty = empty && len(bytes.Trim(part, "\r\n")) == 0
		at += int64(len(part))
		if err == bufio.ErrBufferFull {
			continue
		}
		line++
		if quoted && err == nil {
			continue
		}
		if quoted {
			return fmt.Errorf("dataset: %s: a quote that opens in the record on line %d is not closed", f.path, first)
		}
		if !empty {
			if err := f.record(start, at, first, commas+1); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		start, first, commas, empty = at, line, 0, true
	}
}

// countCommas counts the commas outside of quotes in part, which begins inside quotes or not.
func countCommas(part []byte, quoted bool) (int, bool) {
	if bytes.IndexByte(part, '"') < 0 {
		if quoted {
			return 0, true
		}
		return bytes.Count(part, []byte{','}), false
	}
	n := 0
	for _, c := range part {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			n++
		}
	}
	return n, quoted
}

// record takes the record at [start, end), which has that many fields: the first names the columns.
func (f *file) record(start, end int64, line, fields int) error {
	if f.columns == nil {
		names, err := csv.NewReader(io.NewSectionReader(f.data, start, end-start)).Read()
		if err != nil {
			return fmt.Errorf("dataset: %s: %w", f.path, err)
		}
		names[0] = strings.TrimPrefix(names[0], "\ufeff")
		f.columns = names
		return nil
	}
	if fields != len(f.columns) {
		return fmt.Errorf("dataset: %s: the record on line %d has %d fields, and there are %d columns", f.path, line,
			fields, len(f.columns))
	}
	f.starts = append(f.starts, start)
	return nil
}
