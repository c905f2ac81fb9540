package monitor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
)

// Hook is called before every system call that changes the disk ("mkdir", "create", "write", "sync", "truncate"); an
// error stops the call. With it a test can end a run between any two of them; it is nil otherwise.
type Hook func(op, path string) error

func (h Hook) ask(op, path string) error {
	if h == nil {
		return nil
	}
	return h(op, path)
}

func appendQuoted(buf []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string is always JSON
	return append(buf, q...)
}

// log is metrics.jsonl: one JSON object per training step, in step order, each step once.
type log struct {
	file *os.File
	size int64
	last int // the step of the last line, -1 when there is none
	hook Hook
	sums *sums
}

// openLog opens or makes the file and cuts it back to the steps up to keep, the last one that is committed.
func openLog(path string, keep int, hook Hook) (*log, error) {
	if err := hook.ask("mkdir", filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("monitor: cannot make the folder of %s: %w", path, err)
	}
	if err := hook.ask("create", path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("monitor: cannot open %s: %w", path, err)
	}
	l := &log{file: f, last: -1, hook: hook}
	if err := l.cut(keep); err != nil {
		return nil, errors.Join(fmt.Errorf("monitor: %s: %w", path, err), f.Close())
	}
	return l, nil
}

// cut truncates the file behind the last whole line whose step is at most keep.
func (l *log) cut(keep int) error {
	data, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	path := l.file.Name()
	list, err := readSums(path, keep)
	if err == nil {
		err = checkSums(data, list)
	}
	if err != nil {
		return err
	}
	for rest := data; ; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break // nothing, or a line that a crash left unfinished
		}
		step, _, err := parseLine(line)
		if err != nil {
			return fmt.Errorf("offset %d: %w; restore or move the file", l.size, err)
		}
		if step > keep {
			break
		}
		if step <= l.last {
			return fmt.Errorf("offset %d: step %d after step %d; restore or move the file", l.size, step, l.last)
		}
		l.last = step
		rest = after
		l.size = int64(len(data) - len(rest))
	}
	if l.sums, err = openSums(path, list, sum{l.last, l.size, crc32.Checksum(data[:l.size], castagnoli)}); err != nil {
		return err
	}
	if l.size == int64(len(data)) {
		return nil
	}
	if err := l.hook.ask("truncate", l.file.Name()); err != nil {
		return err
	}
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	return l.sync()
}

// write appends the line of a step and waits until the disk has it.
func (l *log) write(step int, m Metrics) error {
	if step <= l.last {
		return fmt.Errorf("monitor: step %d is to be written after step %d; every step is written once, in order", step, l.last)
	}
	line := m.appendLine(nil, step)
	if err := l.hook.ask("write", l.file.Name()); err != nil {
		return err
	}
	if _, err := l.file.WriteAt(line, l.size); err != nil {
		return fmt.Errorf("monitor: cannot append step %d: %w", step, err)
	}
	if err := l.sync(); err != nil {
		return fmt.Errorf("monitor: cannot append step %d: %w", step, err)
	}
	l.size += int64(len(line))
	l.last = step
	if err := l.sums.add(step, line); err != nil {
		return fmt.Errorf("monitor: cannot note step %d: %w", step, err)
	}
	return nil
}

func (l *log) sync() error {
	if err := l.hook.ask("sync", l.file.Name()); err != nil {
		return err
	}
	return l.file.Sync()
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
