package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the messages of testdata/*.bad.yml into testdata/*.bad.want")

// env is an environment made of NAME=value texts.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

// load parses a text that must be right.
func load(t *testing.T, text string, overrides ...string) *Config {
	t.Helper()
	c, err := Parse("test.yml", []byte(text), overrides, env("HOME=/home/me", "EMPTY=", "NUMBER=7"))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

// messages are the problems of err, one a line, without excerpts.
func messages(err error) []string {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return nil
	}
	var out []string
	for _, e := range joined.Unwrap() {
		line, _, _ := strings.Cut(e.Error(), "\n")
		out = append(out, line)
	}
	return out
}

func TestGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("Glob: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := Load(file, nil, env("TRINITY_TASKSET_PATH=/data/tasks"))
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			if err := c.Validate(); err != nil {
				t.Errorf("Validate after Load: %v", err)
			}
		})
	}
}

// Each testdata/*.bad.yml must give exactly the messages in the .want file beside it.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yml")
	if err != nil || len(files) < 10 {
		t.Fatalf("Glob: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := Load(file, nil, env())
			got := strings.Join(messages(err), "\n") + "\n"
			golden := strings.TrimSuffix(file, ".yml") + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("messages:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ path, want string }{
		{filepath.Join(dir, "none.yml"), "no such file; give the path of a YAML configuration"},
		{"", "no configuration file named"},
		{dir, "is a directory"},
	} {
		_, err := Load(tt.path, nil, env())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Load(%q) = %v, want %q", tt.path, err, tt.want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	_, err := Parse("run.yml", []byte("mode: both\nbuffer:\n  batchsize: 4\n"), nil, env())
	want := "run.yml:3:3: buffer.batchsize: unknown key; did you mean batch_size?\n" +
		"  3 |   batchsize: 4\n" +
		"    |   ^"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error:\n%v\nwant it to contain:\n%s", err, want)
	}
}
