//go:build unix

package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(file, 4); string(data) != "four" || err != nil {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
	for path, want := range map[string]string{file: "more than 3 bytes", "/dev/zero": "more than 3 bytes",
		dir: "directory", filepath.Join(dir, "none"): "no such file"} {
		if _, err := ReadFile(path, 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadFile(%s) = %v, want %s", path, err, want)
		}
	}
	if data, err := ReadFile("/dev/null", 3); len(data) != 0 || err != nil {
		t.Errorf("ReadFile(/dev/null) = %q, %v", data, err)
	}
}

// TestReadPipe: a pipe is read if it has a writer, even a late one, and refused if it has none or a silent one.
func TestReadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := readFile(path, 100, 50*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("a pipe without writer: %v", err)
	}
	read := make(chan string)
	go func() {
		data, err := readFile(path, 100, time.Minute)
		read <- fmt.Sprint(string(data), err)
	}()
	var w *os.File
	eventually(t, "somebody reads the pipe", func() bool { // else it cannot be opened
		var err error
		w, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	for _, s := range []string{"a", "b", "c"} {
		w.WriteString(s)
	}
	w.Close()
	if got := <-read; got != "abc<nil>" {
		t.Errorf("a pipe: %s", got)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.WriteString("a")
	if _, err := readFile(path, 100, 50*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("a pipe whose writer falls silent: %v", err)
	}
}

// eventually waits until something holds that no event reports.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// TestOpenRegular: files without random access are refused, without waiting for them.
func TestOpenRegular(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{path, "/dev/zero"} {
		if _, err := OpenRegular(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("OpenRegular(%s) = %v", path, err)
		}
	}
	f, err := OpenRegular("read_test.go")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
