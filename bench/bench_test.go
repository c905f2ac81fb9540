package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every program below bench says what it does, what it needs and how long it takes.
func TestHeads(t *testing.T) {
	all, err := heads(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, h := range all {
		if seen[h.Name] {
			t.Errorf("bench/%s has both main.go and run.sh", h.Name)
		}
		seen[h.Name] = true
	}
	if !seen["peers"] || !seen["studio"] {
		t.Errorf("the programs are %v", seen)
	}
}

func TestReadHead(t *testing.T) {
	for text, want := range map[string]string{
		"Command x does this\nand that: more. Details.\n\nNeeds: Python\nand pip\nTakes: an hour\n": "",
		"Package x does this.\n":                   "must begin with",
		"Command x does this.\n\nTakes: an hour\n": "lacks",
	} {
		h, err := readHead("x", text)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want one with %q", text, err, want)
			}
			continue
		}
		if err != nil || h != (head{"x", "does this and that", "Python and pip", "an hour", ""}) {
			t.Errorf("%q: %+v, %v", text, h, err)
		}
	}
}

// What a program prints becomes its log, unless it is skipped or prints nothing; its exit code is passed on.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	const top = "#!/bin/bash\n# Command x does this.\n# Needs: nothing\n# Takes: a second\n"
	if err := os.MkdirAll(filepath.Join("bench", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script, log string
		code        int
	}{
		{`echo "hello $1"`, "hello you\n", 0}, {"exit 3", "hello you\n", 3},
		{"echo 'skipped: no network'", "hello you\n", 0}, {"echo half; exit 4", "half\n", 4},
		{"echo part; kill $$", "half\n", 1},
	} {
		if err := os.WriteFile(filepath.Join("bench", "x", "run.sh"), []byte(top+c.script+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		code, _ := bench([]string{"x", "you"}, &out, ".")
		log, err := os.ReadFile("x.log")
		head, rest, _ := strings.Cut(string(log), "\n")
		if code != c.code || rest != c.log || !strings.HasPrefix(head, "# ") {
			t.Errorf("%s: code %d, log %q, %v; want %d and %q", c.script, code, log, err, c.code, c.log)
		}
	}
	if code, err := bench([]string{"y"}, os.Stdout, "."); code != 2 || err == nil {
		t.Errorf("an unknown program: %d, %v", code, err)
	}
}

// Every program that .ci/nightly names is there.
func TestNightly(t *testing.T) {
	script, err := os.ReadFile("../.ci/nightly")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(script), "programs=(\n")
	list, _, ok := strings.Cut(list, "\n)\n")
	if !ok {
		t.Fatal(".ci/nightly has no list programs=( … )")
	}
	for line := range strings.Lines(list) {
		names, _, _ := strings.Cut(line, "#")
		for _, name := range strings.Fields(names) {
			if _, err := os.Stat(name); err != nil {
				t.Errorf(".ci/nightly names %s: %v", name, err)
			}
		}
	}
}
