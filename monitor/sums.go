package monitor

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// sums is metrics.jsonl.sum: after each line of metrics.jsonl its step, the length of the file so far, and the crc32c
// of all that, so that a line that is missing or changed is noticed when the run continues. It is never fsynced: after
// a loss of power the last sums may be missing, and those lines are believed.
type sums struct {
	file disk.File
	last sum
}

// sum says what a metrics.jsonl is up to a step.
type sum struct {
	step  int
	bytes int64
	crc   uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s sum) line() []byte {
	text := fmt.Sprintf("%d %d %08x", s.step, s.bytes, s.crc)
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

// parseSum reads a line; a damaged one is left out.
func parseSum(line []byte) (s sum, ok bool) {
	_, err := fmt.Sscanf(string(line), "%d %d %x", &s.step, &s.bytes, &s.crc)
	return s, err == nil && bytes.Equal(s.line(), append(bytes.Clone(line), '\n'))
}

// readSums returns the sums of a metrics.jsonl up to a step.
func readSums(path string, keep int) (list []sum, err error) {
	data, err := os.ReadFile(path + ".sum")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, line := range bytes.Split(data, []byte("\n")) {
		if s, ok := parseSum(line); ok && s.step <= keep {
			list = append(list, s)
		}
	}
	return list, nil
}

// checkSums compares a metrics.jsonl with the last of its sums.
func checkSums(data []byte, list []sum) error {
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1]
	if int64(len(data)) < last.bytes {
		return fmt.Errorf("it has %d bytes, and up to step %d there were %d: lines are missing; restore the file "+
			"from a backup, or remove its .sum to continue with it as it is", len(data), last.step, last.bytes)
	}
	if crc32.Checksum(data[:last.bytes], castagnoli) != last.crc {
		return fmt.Errorf("its lines up to step %d are not those that were written; restore the file from a backup, "+
			"or remove its .sum to continue with it as it is", last.step)
	}
	return nil
}

// openSums writes the sums that stand anew and opens the file for more.
func openSums(to disk.FS, path string, list []sum, soFar sum) (*sums, error) {
	f, err := to.Create(path + ".sum")
	if err != nil {
		return nil, err
	}
	s := &sums{file: f, last: soFar}
	var text []byte
	for _, x := range list {
		text = append(text, x.line()...)
	}
	if _, err := f.Write(text); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// add notes that a step's line was written.
func (s *sums) add(step int, line []byte) error {
	s.last = sum{step, s.last.bytes + int64(len(line)), crc32.Update(s.last.crc, castagnoli, line)}
	_, err := s.file.Write(s.last.line())
	return err
}
