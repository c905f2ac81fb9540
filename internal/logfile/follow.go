package logfile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// Follower shows the log files of a folder as they grow, including new files.
type Follower struct {
	Dir     string
	Keyword string     // only files with this in their names
	Level   slog.Level // the lowest level shown; lines without a level are not shown
	Last    int        // lines of each file to show first, whatever their level
	Search  string     // text to search for in the existing lines; "" is none
	Color   bool
	Out     io.Writer

	files map[string]*tracked
}

// The intervals of the original: files grow often and appear rarely.
const (
	pollEvery = 500 * time.Millisecond
	scanEvery = 10 // polls
	around    = 5  // lines shown before and after a match
)

type tracked struct {
	f    *os.File
	info os.FileInfo
	at   int64
	part []byte // the beginning of an incomplete line
}

// Run shows the existing lines and then new ones, until ctx ends. A folder that does not exist is an error.
func (w *Follower) Run(ctx context.Context) error {
	if _, err := os.Stat(w.Dir); err != nil {
		return fmt.Errorf("log: %w; a job's logs are in its folder log", err)
	}
	w.files = map[string]*tracked{}
	defer func() {
		for _, t := range w.files {
			t.f.Close()
		}
	}()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		if n%scanEvery == 0 {
			if err := w.scan(); err != nil {
				return err
			}
		}
		for _, path := range w.paths() {
			if err := w.poll(path); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// paths are the followed files, sorted by name.
func (w *Follower) paths() []string { return slices.Sorted(maps.Keys(w.files)) }

// scan opens new files.
func (w *Follower) scan() error {
	entries, err := os.ReadDir(w.Dir)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(w.Dir, e.Name())
		if w.files[path] != nil || e.IsDir() || filepath.Ext(path) != ".log" || !strings.Contains(e.Name(), w.Keyword) {
			continue
		}
		if err := w.open(path); err != nil {
			return err
		}
	}
	return nil
}

// open shows the requested existing lines of a file, and follows the file from its end.
func (w *Follower) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		f.Close()
		return fmt.Errorf("log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("log: %w", err)
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	w.files[path] = &tracked{f: f, info: info, at: int64(len(whole))}
	lines := strings.Split(strings.TrimSuffix(string(whole), "\n"), "\n")
	if len(whole) == 0 {
		return nil
	}
	w.search(path, lines)
	for _, line := range lines[max(0, len(lines)-w.Last):] {
		w.print(path, line)
	}
	return nil
}

// search shows each line that has the text, with the lines around it.
func (w *Follower) search(path string, lines []string) {
	if w.Search == "" {
		return
	}
	for i, line := range lines {
		if !strings.Contains(line, w.Search) {
			continue
		}
		fmt.Fprintf(w.Out, "[%s:%d]\n", path, i+1)
		for j := max(0, i-around); j < min(len(lines), i+around+1); j++ {
			mark := "   "
			if j == i {
				mark = ">> "
			}
			fmt.Fprintln(w.Out, mark+foreign.Plain(lines[j]))
		}
	}
}

// poll shows the new lines of a file. A file that was replaced or cut is read from the beginning; a missing one is
// forgotten.
func (w *Follower) poll(path string) error {
	t := w.files[path]
	info, err := os.Stat(path)
	if err != nil {
		t.f.Close()
		delete(w.files, path)
		if os.IsNotExist(err) {
			fmt.Fprintf(w.Out, "[%s] is gone and not followed any more\n", filepath.Base(path))
			return nil
		}
		return fmt.Errorf("log: %w", err)
	}
	if !os.SameFile(info, t.info) || info.Size() < t.at {
		fmt.Fprintf(w.Out, "[%s] was begun again\n", filepath.Base(path))
		t.f.Close()
		delete(w.files, path)
		return w.open(path)
	}
	return w.grow(path, t, info)
}

func (w *Follower) grow(path string, t *tracked, info fs.FileInfo) error {
	if info.Size() == t.at {
		return nil
	}
	r := bufio.NewReader(io.NewSectionReader(t.f, t.at, info.Size()-t.at))
	for {
		line, err := r.ReadString('\n')
		t.at += int64(len(line))
		t.part = append(t.part, line...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if whole := strings.TrimSuffix(string(t.part), "\n"); w.shows(whole) {
			w.print(path, whole)
		}
		t.part = t.part[:0]
	}
}

// shows reports whether a line has at least the level.
func (w *Follower) shows(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	l, ok := Level(word)
	return ok && l >= w.Level
}

func (w *Follower) print(path, line string) {
	line = foreign.Plain(line)
	word, _, _ := strings.Cut(line, " ")
	if l, ok := Level(word); ok && w.Color && l != slog.LevelInfo {
		line = color(l) + line + "\x1b[0m"
	}
	fmt.Fprintf(w.Out, "[%s] %s\n", filepath.Base(path), line)
}

// color is the escape sequence of a level, "" for the usual ones.
func color(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "\x1b[31m"
	case l >= slog.LevelWarn:
		return "\x1b[33m"
	}
	return "\x1b[2m"
}
