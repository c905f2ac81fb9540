package main

import (
	"errors"
	"strings"
	"testing"
)

// An error that quotes others does not move the cursor and is not endless.
func TestErrorsFitATerminal(t *testing.T) {
	var out strings.Builder
	code := exitCode(&out, errors.New("it answers: \x1b[2J\x1b]0;title\x07\nline two "+strings.Repeat("x", 1<<20)))
	got, want := out.String(), "trinity: it answers: \\x1b[2J\\x1b]0;title\\a\nline two x"
	if code != 1 || !strings.HasPrefix(got, want) || len(got) > longestError+200 {
		t.Errorf("exit %d, %d bytes: %.100q", code, len(got), got)
	}
}
