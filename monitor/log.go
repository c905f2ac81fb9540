package monitor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

func appendQuoted(buf []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string is always JSON
	return append(buf, q...)
}

// log is metrics.jsonl: one JSON object per training step, in step order, each step once.
type log struct {
	file *disk.Grown
	last int // the step of the last line, -1 when there is none
	sums *sums
}

// openLog opens or makes the file and cuts it back to the steps up to keep, the last one that is committed.
func openLog(to disk.FS, path string, keep int) (*log, error) {
	if err := disk.MkdirAll(to, filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("monitor: cannot make the folder of %s: %w", path, err)
	}
	l := &log{last: -1}
	if err := l.open(to, path, keep); err != nil {
		return nil, fmt.Errorf("monitor: %s: %w", path, err)
	}
	return l, nil
}

// open cuts the file after the last whole line whose step is at most keep.
func (l *log) open(to disk.FS, path string, keep int) error {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	list, err := readSums(path, keep)
	if err == nil {
		err = checkSums(data, list)
	}
	if err != nil {
		return err
	}
	var size int64
	for rest := data; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break // nothing, or a line that a crash left unfinished
		}
		step, _, err := parseLine(line)
		if err != nil {
			return fmt.Errorf("offset %d: %w; restore or move the file", size, err)
		}
		if step > keep {
			break
		}
		if step <= l.last {
			return fmt.Errorf("offset %d: step %d after step %d; restore or move the file", size, step, l.last)
		}
		l.last = step
		rest = after
		size = int64(len(data) - len(rest))
	}
	if l.sums, err = openSums(to, path, list, sum{l.last, size, crc32.Checksum(data[:size], castagnoli)}); err != nil {
		return err
	}
	if l.file, err = disk.OpenGrown(to, path, size); err != nil {
		return errors.Join(err, l.sums.file.Close())
	}
	return nil
}

// write appends the line of a step and waits until the disk has it.
func (l *log) write(step int, m Metrics) error {
	if step <= l.last {
		return fmt.Errorf("monitor: step %d is to be written after step %d; every step is written once, in order", step,
			l.last)
	}
	line := m.appendLine(nil, step)
	if _, err := l.file.Write(line); err != nil {
		return fmt.Errorf("monitor: cannot append step %d: %w", step, err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("monitor: cannot append step %d: %w", step, err)
	}
	l.last = step
	if err := l.sums.add(step, line); err != nil {
		return fmt.Errorf("monitor: cannot note step %d: %w", step, err)
	}
	return nil
}

// Line is one step of metrics.jsonl.
type Line struct {
	Step    int
	Metrics Metrics
}

// ReadLog reads a metrics.jsonl, for example of a run that is still going: an unfinished last line is left out. A null
// is NaN.
func ReadLog(path string) ([]Line, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("monitor: cannot read the metrics: %w", err)
	}
	defer f.Close()
	var lines []Line
	for r := bufio.NewReader(f); ; {
		b, err := r.ReadBytes('\n')
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, fmt.Errorf("monitor: cannot read %s: %w", path, err)
		}
		step, m, err := parseLine(b)
		if err != nil {
			return nil, fmt.Errorf("monitor: %s: line %d: %w", path, len(lines)+1, err)
		}
		lines = append(lines, Line{step, m})
	}
}

func parseLine(b []byte) (step int, m Metrics, err error) {
	var raw map[string]*float64
	if err := json.Unmarshal(b, &raw); err != nil {
		return 0, nil, fmt.Errorf("not an object of numbers: %w", err)
	}
	at := raw["step"]
	if at == nil || *at != math.Trunc(*at) {
		return 0, nil, errors.New("there is no whole number at key step")
	}
	delete(raw, "step")
	m = make(Metrics, len(raw))
	for k, v := range raw {
		m[k] = math.NaN()
		if v != nil {
			m[k] = *v
		}
	}
	return int(*at), m, nil
}
