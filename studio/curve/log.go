// Package curve reads logs of metrics, which have a JSON object for each step, while they grow, and makes curves of a
// few hundred points of them.
package curve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Log is a log of metrics in memory. It is safe for concurrent use.
type Log struct {
	path string
	key  string // of the step

	mu    sync.Mutex
	at    int64  // what is read
	tail  []byte // the last bytes before at, which tell whether the log was cut or replaced
	inode fs.FileInfo
	steps []int
	cols  map[string][]float64 // by name; each as long as steps or shorter, NaN for none
}

// Open is a log that is not read yet. The step is in the field key. A folder is one of TensorBoard's event files.
func Open(path, key string) *Log { return &Log{path: path, key: key, cols: map[string][]float64{}} }

// tailSize is how much of what was read is compared with what is there.
const tailSize = 256

// Refresh reads what was added, or everything if the log was cut back or replaced, and reports whether anything
// changed. A log that is not there is empty.
func (l *Log) Refresh() (changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		changed = l.at > 0
		l.reset()
		return changed, nil
	}
	if err != nil {
		return false, fmt.Errorf("studio: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("studio: %w", err)
	}
	if st.IsDir() {
		return l.events()
	}
	if !l.continues(f, st) {
		changed = l.at > 0
		l.reset()
	}
	l.inode = st
	if st.Size() == l.at {
		return changed, nil
	}
	more, err := l.read(f)
	return changed || more, err
}

// events reads TensorBoard's files anew if one was written to.
func (l *Log) events() (changed bool, err error) {
	total := int64(0)
	err = filepath.WalkDir(l.path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if st, err := d.Info(); err == nil {
				total += st.Size()
			}
		}
		return nil
	})
	if err != nil || total == l.at {
		return false, err
	}
	l.at = total
	l.steps, l.cols = readEvents(l.path)
	return true, nil
}

func (l *Log) reset() {
	l.at, l.tail, l.steps, l.cols = 0, nil, nil, map[string][]float64{}
}

// continues reports whether the file still begins with what was read.
func (l *Log) continues(f *os.File, st fs.FileInfo) bool {
	if l.at == 0 {
		return true
	}
	if st.Size() < l.at || !os.SameFile(st, l.inode) {
		return false
	}
	now := make([]byte, len(l.tail))
	_, err := f.ReadAt(now, l.at-int64(len(now)))
	return err == nil && bytes.Equal(now, l.tail)
}

func (l *Log) read(f *os.File) (changed bool, err error) {
	from := l.at
	r := io.NewSectionReader(f, from, math.MaxInt64-from)
	err = rollout.Lines(context.Background(), r, func(line []byte, _, next int64) {
		l.line(line)
		l.at = from + next
		changed = true
	})
	if err != nil {
		l.reset() // part of it may be there twice otherwise
		return true, fmt.Errorf("studio: %s: %w", l.path, err)
	}
	l.tail = make([]byte, min(l.at, tailSize))
	if _, err := f.ReadAt(l.tail, l.at-int64(len(l.tail))); err != nil {
		l.reset()
	}
	return changed, nil
}

// line adds a line. What is no number is left out, but null is written for one that is not finite; a line without a
// step has the next one.
func (l *Log) line(line []byte) {
	n := len(l.steps)
	l.steps = append(l.steps, 0)
	step := -1
	err := rollout.Fields(line, func(key, value []byte, _ int) {
		v, ok := rollout.Number(value)
		if string(value) == "null" {
			v, ok = math.NaN(), string(key) != l.key
		}
		if !ok {
			return
		}
		if string(key) == l.key {
			step = int(v)
			return
		}
		col, known := l.cols[string(key)]
		for len(col) < n {
			col = append(col, math.NaN())
		}
		if len(col) > n { // the key stands twice
			col[n] = v
		} else {
			col = append(col, v)
		}
		if known {
			l.cols[string(key)] = col
		} else {
			l.cols[string(bytes.Clone(key))] = col
		}
	})
	if err != nil {
		l.drop(n)
		return
	}
	if step < 0 && n > 0 {
		step = l.steps[n-1] + 1
	}
	l.steps[n] = max(step, 0)
}

// drop takes a line back, and what was put before it for lines without the metric.
func (l *Log) drop(n int) {
	l.steps = l.steps[:n]
	for name, col := range l.cols {
		if len(col) <= n {
			continue
		}
		for col = col[:n]; len(col) > 0 && math.IsNaN(col[len(col)-1]); {
			col = col[:len(col)-1]
		}
		l.cols[name] = col
	}
}

// Names are the metrics that have a finite value, in order.
func (l *Log) Names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.cols))
	for name, col := range l.cols {
		if slices.ContainsFunc(col, finite) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Len is the number of lines.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.steps)
}

// Last is the last step; ok is false for an empty log.
func (l *Log) Last() (step int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.steps) == 0 {
		return 0, false
	}
	return l.steps[len(l.steps)-1], true
}

// Series is a metric: the steps that have it and its values.
func (l *Log) Series(name string) (steps []int, values []float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range l.cols[name] {
		if finite(v) {
			steps, values = append(steps, l.steps[i]), append(values, v)
		}
	}
	return steps, values
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// First is the first of the names that has a finite value, "" for none.
func (l *Log) First(names ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if slices.ContainsFunc(l.cols[name], finite) {
			return name
		}
	}
	return ""
}

// Lost reports whether the last value of the first metric that was written is not finite, and its step.
func (l *Log) Lost(names ...string) (step int, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if col := l.cols[name]; len(col) > 0 {
			return l.steps[len(col)-1], !finite(col[len(col)-1])
		}
	}
	return 0, false
}

// Size is how many bytes the log takes in memory, roughly.
func (l *Log) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 8 * cap(l.steps)
	for _, col := range l.cols {
		n += 8 * cap(col)
	}
	return n
}
