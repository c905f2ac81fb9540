package logfile

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHandler(t *testing.T) {
	var out bytes.Buffer
	h := NewHandler(&out, "explorer", slog.LevelInfo)
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	say := func(h slog.Handler, l slog.Level, text string, args ...any) {
		if !h.Enabled(context.Background(), l) {
			return
		}
		r := slog.NewRecord(at, l, text, 0)
		r.Add(args...)
		if err := h.Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	say(h, slog.LevelInfo, "step", "n", 3, "name", "two words")
	say(h, slog.LevelDebug, "hidden")
	say(h, slog.LevelWarn, "first\nsecond")
	say(h.WithAttrs([]slog.Attr{slog.Int("rank", 1)}).WithGroup("g"), slog.LevelError, "failed", "why", "no room")
	say(h, Critical, "over")
	want := `INFO 03-04 05:06:07 [explorer] step n=3 name="two words"
WARNING 03-04 05:06:07 [explorer] first
WARNING 03-04 05:06:07 [explorer] second
ERROR 03-04 05:06:07 [explorer] failed rank=1 g.why="no room"
CRITICAL 03-04 05:06:07 [explorer] over
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// add appends text to a file of the folder.
func add(t *testing.T, dir, name, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// follow runs w on a folder while act changes it, and returns its output.
func follow(t *testing.T, dir string, w Follower, act func()) string {
	t.Helper()
	var out bytes.Buffer
	w.Dir, w.Out = dir, &out
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(time.Second)
		act()
		time.Sleep(time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return out.String()
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	add(t, dir, "explorer.log", "INFO old\n")
	add(t, dir, "notes.txt", "INFO not a log\n")
	got := follow(t, dir, Follower{Level: slog.LevelInfo}, func() {
		add(t, dir, "explorer.log", "DEBUG too low\nWARNING torn ")
		time.Sleep(2 * time.Second)
		add(t, dir, "explorer.log", "line\nno level\n")
		add(t, dir, "trainer.log", "INFO before it was seen\n")
		time.Sleep(10 * time.Second)
		add(t, dir, "trainer.log", "ERROR now\n")
	})
	want := "[explorer.log] WARNING torn line\n[trainer.log] ERROR now\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	add(t, dir, "run.log", "INFO one\nINFO two\n")
	got := follow(t, dir, Follower{Level: slog.LevelInfo, Last: 1}, func() {
		if err := os.WriteFile(filepath.Join(dir, "run.log"), []byte("INFO cut\n"), 0o644); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if err := os.Remove(filepath.Join(dir, "run.log")); err != nil {
			t.Error(err)
		}
	})
	want := "[run.log] INFO two\n[run.log] was begun again\n[run.log] INFO cut\n[run.log] is gone and not followed " +
		"any more\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSearch(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		add(t, dir, "run.log", fmt.Sprintf("INFO line %d\n", i+1))
	}
	add(t, dir, "other.log", "INFO line 9\n")
	got := follow(t, dir, Follower{Level: slog.LevelInfo, Search: "line 9", Keyword: "run"}, func() {})
	if !strings.HasPrefix(got, "["+filepath.Join(dir, "run.log")+":9]\n   INFO line 4\n") ||
		!strings.Contains(got, "\n>> INFO line 9\n") ||
		!strings.HasSuffix(got, "   INFO line 14\n") || strings.Contains(got, "other") {
		t.Errorf("got\n%s", got)
	}
}

func TestNoFolder(t *testing.T) {
	w := Follower{Dir: filepath.Join(t.TempDir(), "nowhere")}
	if err := w.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("Run = %v, want an error that names the folder", err)
	}
}

// What others wrote neither begins lines of its own nor moves the cursor, in the file and when it is shown.
func TestForeignText(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(NewHandler(&out, "python", slog.LevelInfo))
	log.Info("printed\nERROR 01-01 00:00:00 [run] forged\x1b[2J", "task", "a\x1b]0;title\x07",
		"b", strings.Repeat("x", 1<<20))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "INFO ") || !strings.Contains(lines[1], `forged\x1b[2J`) ||
		!strings.Contains(lines[1], `task="a\x1b]0;title\a"`) || out.Len() > 20<<10 {
		t.Errorf("%d lines, %d bytes: %.300q", len(lines), out.Len(), out.String())
	}
	f := Follower{Out: new(bytes.Buffer)}
	f.print("x.log", "INFO an old line\x1b[2J")
	if got := f.Out.(*bytes.Buffer).String(); got != "[x.log] INFO an old line\\x1b[2J\n" {
		t.Errorf("it is shown as %q", got)
	}
}
