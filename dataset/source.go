package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is a dataset opened for reading rows in any order. Only where each row starts is kept in memory.
// It is safe for concurrent use.
type Source struct {
	files []*file
	size  int
}

// Open opens the split of the dataset at path: a file, or a folder with <split>.jsonl, .json or .csv, the
// shards <split>-00000-of-00003.jsonl, or either of these in data/, below the folder of the subset if one is
// named. A folder with a single data file that names no split serves as train. An empty dataset is an error.
func Open(path, subset, split string) (*Source, error) {
	paths, err := locate(path, subset, split)
	if err != nil {
		return nil, err
	}
	s := &Source{}
	for _, p := range paths {
		f, err := openFile(p)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.files = append(s.files, f)
		s.size += len(f.starts)
	}
	if s.size == 0 {
		s.Close()
		return nil, fmt.Errorf("dataset: %s has no rows; give it at least one or name another path", strings.Join(paths, ", "))
	}
	return s, nil
}

// Len is the number of rows.
func (s *Source) Len() int { return s.size }

// Row reads row i, 0 ≤ i < Len. A row that cannot be read is an error that names file and line.
func (s *Source) Row(i int) (Row, error) {
	f, i, err := s.at(i)
	if err != nil {
		return nil, err
	}
	return f.row(i)
}

// Place says where row i is written: file:line.
func (s *Source) Place(i int) string {
	f, i, err := s.at(i)
	if err != nil {
		return err.Error()
	}
	return f.place(i)
}

// at finds the file that holds row i and the row's place in it.
func (s *Source) at(i int) (*file, int, error) {
	n := i
	for _, f := range s.files {
		if n >= 0 && n < len(f.starts) {
			return f, n, nil
		}
		n -= len(f.starts)
	}
	return nil, 0, fmt.Errorf("dataset: row %d asked of %d rows", i, s.size)
}

// Close closes the files.
func (s *Source) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.data.Close())
	}
	return errors.Join(errs...)
}

// readable are the kinds of file there is a reader for, in the order they are looked for.
var readable = []string{".jsonl", ".json", ".csv"}

// locate names the files of a split, in order.
func locate(path, subset, split string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot open %s: %w; name a file, or a folder with %s.jsonl in it", path, errors.Unwrap(err), splitOr(split))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	folder := path
	if subset != "" && subset != "default" {
		folder = filepath.Join(path, subset)
	}
	var seen []string
	for _, dir := range []string{folder, filepath.Join(folder, "data")} {
		names, err := dataFiles(dir)
		if err != nil {
			return nil, err
		}
		if found := ofSplit(names, splitOr(split)); found != nil {
			return found, nil
		}
		seen = append(seen, names...)
	}
	if len(seen) == 1 && splitOr(split) == "train" && !namesSplit(seen[0]) {
		return seen, nil
	}
	return nil, fmt.Errorf("dataset: %s has no file for split %q (looked for %s.jsonl, .json, .csv and shards of them); it has %s",
		folder, splitOr(split), splitOr(split), listed(seen))
}

func splitOr(split string) string {
	if split == "" {
		return "train"
	}
	return split
}

// dataFiles lists the data files of a folder, none if there is no such folder.
func dataFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: cannot list %s: %w", dir, err)
	}
	var out []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if !e.IsDir() && (slices.Contains(readable, ext) || ext == ".parquet") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out, nil
}

// ofSplit picks the file or the shards of a split; one format wins over the others, parquet last.
func ofSplit(paths []string, split string) []string {
	for _, ext := range append(slices.Clone(readable), ".parquet") {
		var found []string
		for _, p := range paths {
			name, ok := strings.CutSuffix(filepath.Base(p), ext)
			shard, isShard := strings.CutPrefix(name, split+"-")
			if ok && (name == split || isShard && isShardNumber(shard)) {
				found = append(found, p)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// isShardNumber recognises 00000-of-00003.
func isShardNumber(s string) bool {
	var i, n int
	if c, err := fmt.Sscanf(s, "%05d-of-%05d", &i, &n); err != nil || c != 2 {
		return false
	}
	return strings.HasPrefix(s, fmt.Sprintf("%05d-of-%05d", i, n))
}

func namesSplit(path string) bool {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, split := range []string{"test", "validation", "valid", "dev", "eval"} {
		if name == split || strings.HasPrefix(name, split+"-") {
			return true
		}
	}
	return false
}

func listed(paths []string) string {
	if len(paths) == 0 {
		return "no data files"
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = filepath.Base(p)
	}
	return strings.Join(names, ", ")
}
