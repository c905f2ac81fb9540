package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Source is a dataset opened for reading rows in any order. Rows stay on disk: of a text file, where each row starts is
// kept in memory, of a parquet file a few blocks of rows. It is safe for concurrent use.
type Source struct{ parts []Table }

// Table is rows in one place: an open data file, or what a program brings to [Of]. It must be safe for concurrent use.
type Table interface {
	Count() int
	Row(i int) (Row, error)
	Place(i int) string // of row i, for messages
	Close() error
}

// Of is a dataset of the rows of a table. Closing it closes the table.
func Of(t Table) *Source { return &Source{[]Table{t}} }

// Open opens the split of the dataset at path: a file, a pattern of files such as data/*.jsonl or {a,b}/**/*.parquet,
// or a folder, in which Select finds the split's files. An empty dataset is an error.
func Open(path, subset, split string) (*Source, error) {
	paths, err := locate(path, subset, split)
	if err != nil {
		return nil, err
	}
	s := &Source{}
	for _, p := range paths {
		f, err := openTable(p)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.parts = append(s.parts, f)
	}
	if s.Len() == 0 {
		s.Close()
		return nil, fmt.Errorf("dataset: %s has no rows; give it at least one or name another path",
			strings.Join(paths, ", "))
	}
	return s, nil
}

func openTable(path string) (Table, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".jsonl", ".json", ".csv":
		return openFile(path, ext)
	case ".parquet":
		return openParquet(path)
	default:
		return nil, fmt.Errorf("dataset: %s ends in %q; the files that can be read end in %s", path, ext,
			strings.Join(readable, ", "))
	}
}

// Len is the number of rows.
func (s *Source) Len() int {
	n := 0
	for _, t := range s.parts {
		n += t.Count()
	}
	return n
}

// Row reads row i, 0 ≤ i < Len. A row that cannot be read is an error that names file and line.
func (s *Source) Row(i int) (Row, error) {
	t, i, err := s.at(i)
	if err != nil {
		return nil, err
	}
	return t.Row(i)
}

// Numbers reads columns of numbers, [Len][len(keys)].
func (s *Source) Numbers(keys []string) ([][]float64, error) {
	out := make([][]float64, s.Len())
	for i := range out {
		row, err := s.Row(i)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			v, ok := row.Get(key)
			if !ok {
				return nil, fmt.Errorf("dataset: %s: no column %q; the columns are: %s", s.Place(i), key,
					strings.Join(row.Columns(), ", "))
			}
			n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
			if err != nil {
				return nil, fmt.Errorf("dataset: %s: column %q is %v; it must be a number", s.Place(i), key, v)
			}
			out[i] = append(out[i], n)
		}
	}
	return out, nil
}

// Place says where row i is written: file:line, or the file and the row's number from 0 in it.
func (s *Source) Place(i int) string {
	t, i, err := s.at(i)
	if err != nil {
		return err.Error()
	}
	return t.Place(i)
}

// at finds the table that holds row i and the row's place in it.
func (s *Source) at(i int) (Table, int, error) {
	n := i
	for _, t := range s.parts {
		if n >= 0 && n < t.Count() {
			return t, n, nil
		}
		n -= t.Count()
	}
	return nil, 0, fmt.Errorf("dataset: row %d asked of %d rows", i, s.Len())
}

// Close closes the tables.
func (s *Source) Close() error {
	var errs []error
	for _, t := range s.parts {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

// locate names the files of a split, in order.
func locate(path, subset, split string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil && isPattern(path):
		return locatePattern(path)
	case err != nil:
		return nil, fmt.Errorf("dataset: cannot open %s: %w; name a file, a pattern such as data/*.jsonl, or a "+
			"folder with %s.jsonl in it", path, errors.Unwrap(err), splitOr(split))
	case !info.IsDir():
		return []string{path}, nil
	}
	names, err := walk(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot list %s: %w", path, err)
	}
	readme := ""
	if slices.Contains(names, "README.md") {
		text, err := disk.ReadFile(filepath.Join(path, "README.md"), disk.SmallFile)
		if err != nil {
			return nil, fmt.Errorf("dataset: %w", err)
		}
		readme = string(text)
	}
	found, err := Select(names, readme, subset, split)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	for i, n := range found {
		found[i] = filepath.Join(path, filepath.FromSlash(n))
	}
	return found, nil
}

func locatePattern(pattern string) ([]string, error) {
	found, err := glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", pattern, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("dataset: no file fits %s; * and ? stay within a folder, ** goes through folders, "+
			"{a,b} is either", pattern)
	}
	return found, nil
}
