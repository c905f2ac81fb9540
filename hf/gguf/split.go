package gguf

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
)

// A model may be split into files PREFIX-00001-of-00003.gguf and so on, as llama-gguf-split of llama.cpp makes them.
// The first has the metadata, each has some of the tensors, and the keys split.no, split.count and split.tensors.count
// say what belongs together.

// splitRule matches the name of one of several files.
var splitRule = regexp.MustCompile(`^(.+)-([0-9]{5})-of-([0-9]{5})\.gguf$`)

// ParseSplit reads the name of one of several files: its number i, from 1, of n. ok is false for another name.
func ParseSplit(path string) (prefix string, i, n int, ok bool) {
	m := splitRule.FindStringSubmatch(path)
	if m == nil {
		return "", 0, 0, false
	}
	i, _ = strconv.Atoi(m[2]) // five digits
	n, _ = strconv.Atoi(m[3])
	return m[1], i, n, 1 <= i && i <= n
}

// SplitName is the name of file i of n.
func SplitName(prefix string, i, n int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", prefix, i, n)
}

// join opens the other files of a model that was split, if f is the first of several.
func (f *File) join(path string) error {
	no, count, err := f.split()
	if err != nil || count <= 1 {
		return err
	}
	prefix, i, n, named := ParseSplit(path)
	switch {
	case no != 0 && named:
		return fmt.Errorf("the file is part %d of %d of a model; name the first one, %s", no+1, count,
			filepath.Base(SplitName(prefix, 1, n)))
	case no != 0:
		return fmt.Errorf("the file is part %d of %d of a model; name the first one", no+1, count)
	case !named || i != 1 || int64(n) != count:
		return fmt.Errorf("the file is the first of %d of a model, so its name must end in %s: the others are found "+
			"by their names; rename it", count, SplitName("", 1, int(count)))
	}
	for i := 2; i <= n; i++ {
		if err := f.add(SplitName(prefix, i, n), int64(i-1), count); err != nil {
			return fmt.Errorf("part %d of %d: %w", i, n, err)
		}
	}
	total, ok, err := f.Metadata.Int("split.tensors.count")
	if err == nil && ok && total != int64(len(f.Tensors)) {
		err = fmt.Errorf("its %d parts have %d tensors, and the key split.tensors.count says %d; download them again",
			n, len(f.Tensors), total)
	}
	return err
}

// split reads which part of how many a file is.
func (f *File) split() (no, count int64, err error) {
	no, _, err = f.Metadata.Int("split.no")
	count, _, err2 := f.Metadata.Int("split.count")
	if err := errors.Join(err, err2); err != nil {
		return 0, 0, err
	}
	if count > 1<<16 || no >= max(count, 1) {
		return 0, 0, fmt.Errorf("the keys split.no and split.count are %d and %d; there is no such part", no, count)
	}
	return no, count, nil
}

// add opens part no, from 0, and takes its tensors.
func (f *File) add(path string, no, count int64) error {
	g, err := openOne(path)
	if err != nil {
		return fmt.Errorf("%w; all parts must be in one folder", err)
	}
	f.close = append(f.close, g.close...)
	f.parts = append(f.parts, g.parts...)
	has, of, err := g.split()
	if err == nil && (has != no || of != count) {
		err = fmt.Errorf("gguf: %s: the keys split.no and split.count are %d and %d, not %d and %d; the file belongs "+
			"to another model", path, has, of, no, count)
	}
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(f.Tensors))
	for _, t := range f.Tensors {
		seen[t.Name] = true
	}
	for _, t := range g.Tensors {
		if seen[t.Name] {
			return fmt.Errorf("gguf: %s: tensor %s is in an earlier part too; the file belongs to another model", path,
				t.Name)
		}
		t.part = len(f.parts) - 1
		f.Tensors = append(f.Tensors, t)
	}
	return nil
}
