package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/cmdline"
)

// Flags come before the other words, with their values, whatever the order in which they were written.
func TestWordsLast(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.Vars{"debugHelp": ""}, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{"run a.b=1 --config F c.d=2", "run --config F a.b=1 c.d=2"},
		{"run --config F a.b=1 --plugin-dir DIR c.d=2", "run --config F --plugin-dir DIR a.b=1 c.d=2"},
		{"run a=1 --config=F b=2 --studio c=3", "run --config=F --studio a=1 b=2 c=3"},
		{"run a=1 -cF b=2 -c F", "run -cF -c F a=1 b=2"},
		{"validate a=1 --no-estimate b=2 -c F", "validate --no-estimate -c F a=1 b=2"},
		{"debug a=1 -m prompt b=2 -c F", "debug -m prompt -c F a=1 b=2"},
		{"gem a=1 --threads 2 b=2", "gem --threads 2 a=1 b=2"},
		{"gem train a=1 --threads 2 b=2", "gem train --threads 2 a=1 b=2"},
		{"gem play ID a=1 --seed 2 b=2", "gem play --seed 2 ID a=1 b=2"},
		{"plot one -o p.svg two", "plot -o p.svg one two"},
		{"serve key add NAME --data D", "serve key add --data D NAME"},
		{"run -c F a=1 -- --b=2", "run -c F -- a=1 --b=2"},
		{"run --config", "run --config"},
		{"run --unknown a=1 -c F", "run --unknown -c F a=1"},
		{"gem list run", "gem list run"},
	} {
		got := strings.Join(cmdline.WordsLast(parser.Model.Node, strings.Fields(tt.line)), " ")
		if got != tt.want {
			t.Errorf("wordsLast(%s) = %s, want %s", tt.line, got, tt.want)
		}
		if tt.line == "run --config" || strings.Contains(tt.line, "unknown") {
			continue
		}
		if _, err := parser.Parse(strings.Fields(got)); err != nil && !strings.Contains(err.Error(), "missing flags") {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestSpoken(t *testing.T) {
	for line, want := range map[string]string{"": "--help", "help": "--help", "help gem play": "gem play --help",
		"--version": "version", "run --version": "run --version", "run help": "run help"} {
		if got := cmdline.Spoken(strings.Fields(line)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("spoken(%s) = %v, want %s", line, got, want)
		}
	}
}
