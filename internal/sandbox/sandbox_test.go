package sandbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseKind(t *testing.T) {
	for text, want := range map[string]Kind{"": Namespaces, "auto": Namespaces, "namespaces": Namespaces,
		"none": None} {
		if got, err := ParseKind(text); err != nil || got != want {
			t.Errorf("ParseKind(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"docker": `unknown kind "docker"`, "bubblewrap": "set sandbox to auto"} {
		if _, err := ParseKind(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A program that would do its usual work when it is started as a stage has no sandbox.
func TestUnstaged(t *testing.T) {
	_, err := Open(t.Context(), Options{})
	if !errors.Is(err, ErrRefused) {
		t.Errorf("error %v, want a refusal", err)
	}
	if _, is := Stage([]string{"/usr/bin/trinity", "watch"}); is {
		t.Error("a command that is named as a stage is one")
	}
}

func TestJobsAreChecked(t *testing.T) {
	b := &Box{kind: None}
	for want, j := range map[string]Job{
		"a job without a program": {},
		`the file name "../x"`:    {Args: []string{"x"}, Files: map[string][]byte{"../x": nil}},
		`the file name ".."`:      {Args: []string{"x"}, Files: map[string][]byte{"..": nil}},
		`the folder "home"`:       {Args: []string{"x"}, ReadOnly: []string{"home"}},
		`the folder "//"`:         {Args: []string{"x"}, ReadOnly: []string{"//"}},
	} {
		if _, err := b.Run(t.Context(), j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", j, err, want)
		}
	}
}

// Without a sandbox only wall time and output are bounded, as the configuration asked for.
func TestNone(t *testing.T) {
	b, err := Open(t.Context(), Options{Kind: None})
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != "none (no isolation)" {
		t.Errorf("it calls itself %q", b)
	}
	r := sh(t, b, Limits{}, "cat; echo out; echo err >&2; exit 3")
	if string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" || r.Exit != 3 ||
		r.Why(Limits{}) != "ended with status 3" {
		t.Errorf("%+v", r)
	}
	r = sh(t, b, Limits{Wall: 200 * time.Millisecond}, "sleep 100 & sleep 100")
	if r.Stopped != StopWall {
		t.Errorf("an endless program: %+v", r)
	}
	r = sh(t, b, Limits{Output: 10}, "head -c 100000 /dev/zero; echo end >&2")
	if len(r.Stdout) != 10 || r.StdoutCut != 99990 || string(r.Stderr) != "end\n" {
		t.Errorf("much output: %d bytes, %d cut", len(r.Stdout), r.StdoutCut)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Run(ctx, Job{Args: []string{"/bin/sh"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that nobody wants any more: %v", err)
	}
}

// The last bytes of stderr are kept, for that is where errors are.
func TestHeadAndTail(t *testing.T) {
	h, l := &head{limit: 4}, &tail{limit: 4}
	for _, part := range []string{"ab", "cde", "fghijk", ""} {
		h.Write([]byte(part))
		l.Write([]byte(part))
	}
	if string(h.kept) != "abcd" || h.cut != 7 || string(l.kept) != "hijk" || l.cut != 7 {
		t.Errorf("head %q cut %d, tail %q cut %d", h.kept, h.cut, l.kept, l.cut)
	}
}

func TestWhy(t *testing.T) {
	for want, r := range map[string]Result{
		"":                       {},
		"ended with status 2":    {Exit: 2},
		"ended by signal 11":     {Exit: -1, Signal: 11},
		"stopped after 10s, the": {Stopped: StopWall},
		"of CPU time, the limit": {Stopped: StopCPU, Signal: 9},
		"1024 MiB of memory":     {Stopped: StopMemory},
	} {
		if got := r.Why(Limits{}); !strings.Contains(got, want) || (want == "") != r.OK() {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}
