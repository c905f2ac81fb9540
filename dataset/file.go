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
	"path/filepath"
	"strings"
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

func openFile(path string) (*file, error) {
	ext := strings.ToLower(filepath.Ext(path))
	switch ext {
	case ".jsonl", ".json", ".csv":
	case ".parquet":
		return nil, fmt.Errorf("dataset: %s is a parquet file, which cannot be read yet; convert it to JSON lines, for example with pandas: read_parquet(…).to_json(%q, orient=\"records\", lines=True)",
			path, strings.TrimSuffix(filepath.Base(path), ext)+".jsonl")
	default:
		return nil, fmt.Errorf("dataset: %s ends in %q; the files that can be read end in .jsonl, .json or .csv", path, ext)
	}
	data, err := os.Open(path)
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

// index finds where the rows start, reading the file once from front to back.
func (f *file) index(ext string) error {
	r := bufio.NewReaderSize(f.data, 1<<16)
	if ext == ".csv" {
		return f.indexCSV(r)
	}
	if ext == ".json" {
		if head, _ := r.Peek(1 << 16); bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")) {
			return f.indexArray(r)
		}
	}
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

func (f *file) indexArray(r io.Reader) error {
	f.format = jsonArray
	dec := json.NewDecoder(r)
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("dataset: cannot read %s: %w", f.path, err)
	}
	var skip json.RawMessage
	for dec.More() {
		at := dec.InputOffset()
		if err := dec.Decode(&skip); err != nil {
			return fmt.Errorf("dataset: %s: element %d of the array: %w", f.lineAt(at), len(f.starts), err)
		}
		f.starts = append(f.starts, dec.InputOffset()-int64(len(skip)))
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("dataset: %s: the array is not closed: %w", f.lineAt(dec.InputOffset()), noEOF(err))
	}
	return nil
}

func (f *file) indexCSV(r io.Reader) error {
	f.format = csvTable
	records := csv.NewReader(r)
	records.ReuseRecord = true
	for {
		at := records.InputOffset()
		record, err := records.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("dataset: %s: %w", f.path, err)
		case f.columns == nil:
			f.columns = append([]string{}, record...)
			f.columns[0] = strings.TrimPrefix(f.columns[0], "\ufeff")
		default:
			f.starts = append(f.starts, at)
		}
	}
}

// row reads row i of the file.
func (f *file) row(i int) (Row, error) {
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
		return nil, fmt.Errorf("dataset: %s: %w", f.place(i), err)
	}
	var row Row
	if err := json.Unmarshal(raw, &row); err != nil {
		return nil, fmt.Errorf("dataset: %s: %w: %s; mend the line or remove it", f.place(i), err, excerpt(raw))
	}
	return row, nil
}

func (f *file) csvRow(section io.Reader, i int) (Row, error) {
	records := csv.NewReader(section)
	records.FieldsPerRecord = len(f.columns)
	record, err := records.Read()
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", f.place(i), err)
	}
	row := make(Row, len(record))
	for j, v := range record {
		row[j] = Field{f.columns[j], v}
	}
	return row, nil
}

// place is file:line of row i. Lines are counted only when asked for, as errors do.
func (f *file) place(i int) string { return f.lineAt(f.starts[i]) }

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
