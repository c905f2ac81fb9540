package dataset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// format is how a file holds its rows.
type format uint8

const (
	jsonLines format = iota // an object a line; blank lines count for nothing
	jsonArray               // one array of objects
	csvTable                // a line of names, then records; all values are text
)

// file is an open data file and where each of its rows starts.
type file struct {
	path    string
	data    *os.File
	format  format
	starts  []int64 // byte offsets
	columns []string
}

func openFile(path, ext string) (*file, error) {
	data, err := disk.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	f := &file{path: path, data: data}
	if err := f.index(ext); err != nil {
		data.Close()
		return nil, err
	}
	return f, nil
}

// Count implements Table.
func (f *file) Count() int { return len(f.starts) }

// Close closes the file.
func (f *file) Close() error { return f.data.Close() }

// Row implements Table.
func (f *file) Row(i int) (Row, error) {
	end := int64(math.MaxInt64)
	if i+1 < len(f.starts) {
		end = f.starts[i+1]
	}
	section := io.NewSectionReader(f.data, f.starts[i], end-f.starts[i])
	if f.format == csvTable {
		return f.csvRow(section, i)
	}
	var raw []byte
	var err error
	if f.format == jsonLines {
		raw, err = bufio.NewReader(section).ReadBytes('\n')
		raw = bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("\ufeff"))
	} else {
		err = json.NewDecoder(section).Decode((*json.RawMessage)(&raw))
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("dataset: %s: %w", f.Place(i), err)
	}
	var row Row
	if err := json.Unmarshal(raw, &row); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w: %s; mend the line or remove it", f.Place(i), err, excerpt(raw))
	}
	return row, nil
}

func (f *file) csvRow(section io.Reader, i int) (Row, error) {
	records := csv.NewReader(section)
	records.FieldsPerRecord = len(f.columns)
	record, err := records.Read()
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", f.Place(i), err)
	}
	row := make(Row, len(record))
	for j, v := range record {
		row[j] = Field{f.columns[j], v}
	}
	return row, nil
}

// Place is file:line of row i. Lines are counted only when asked for, as errors do.
func (f *file) Place(i int) string { return f.lineAt(f.starts[i]) }

func (f *file) lineAt(offset int64) string {
	r := bufio.NewReader(io.NewSectionReader(f.data, 0, offset))
	line := 1
	for {
		part, err := r.ReadSlice('\n')
		line += bytes.Count(part, []byte{'\n'})
		if err != nil && err != bufio.ErrBufferFull {
			return fmt.Sprintf("%s:%d", f.path, line)
		}
	}
}

// excerpt is the start of a line, short enough for a message.
func excerpt(raw []byte) string {
	const most = 60
	if r := []rune(string(raw)); len(r) > most {
		return fmt.Sprintf("%q…", string(r[:most]))
	}
	return fmt.Sprintf("%q", raw)
}
