package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommittedFiles makes the example's files again and compares the bytes.
func TestCommittedFiles(t *testing.T) {
	for _, c := range []struct {
		command, folder string
		files           []string
	}{
		{"data", "../data", []string{"train.jsonl", "test.jsonl"}},
		{"model", "../model", []string{"tokenizer.json", "tokenizer_config.json", "config.json", "generation_config.json"}},
	} {
		t.Run(c.command, func(t *testing.T) {
			out := t.TempDir()
			if err := run([]string{c.command, "-out", out}, io.Discard); err != nil {
				t.Fatal(err)
			}
			for _, f := range c.files {
				got, want := read(t, filepath.Join(out, f)), read(t, filepath.Join(c.folder, f))
				if !bytes.Equal(got, want) {
					t.Errorf("%s differs from the committed file; run go run ./examples/tiny/gen %s", f, c.command)
				}
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPretrainRows(t *testing.T) {
	out := t.TempDir()
	if err := run([]string{"pretrain", "-out", out, "-rows", "10", "-seed", "7"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(read(t, filepath.Join(out, "train.jsonl")))), "\n")
	if len(lines) != 10 {
		t.Fatalf("%d rows, want 10", len(lines))
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, `{"question":"`) || !strings.Contains(l, `","response":"<think>`) {
			t.Errorf("row %s: want the columns question and response, tags unescaped", l)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage"},
		{[]string{"dta"}, `unknown command "dta"`},
		{[]string{"data", "-rowz", "3"}, "not defined: -rowz"},
		{[]string{"data", "-out", t.TempDir(), "more"}, `unexpected argument "more"`},
		{[]string{"data", "-out", file}, file},
	} {
		err := run(c.args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error with %q", c.args, err, c.want)
		}
	}
}
