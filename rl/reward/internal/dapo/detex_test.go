package dapo

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestDetex compares with pylatexenc on random LaTeX, most of it broken (testdata/graders.py). It fails where that
// does.
func TestDetex(t *testing.T) {
	f, err := os.Open("../../testdata/detex.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, n := bufio.NewScanner(f), 0
	for ; lines.Scan(); n++ {
		var row struct {
			Latex string
			Text  *string
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		got, err := detex(row.Latex)
		switch {
		case row.Text == nil && err == nil:
			t.Errorf("%q is %q, upstream fails", row.Latex, got)
		case row.Text != nil && (err != nil || got != *row.Text):
			t.Errorf("%q is\n%q, %v, want\n%q", row.Latex, got, err, *row.Text)
		}
	}
	if n < 3000 {
		t.Errorf("%d texts, want at least 3000", n)
	}
}

// What is nested or asks again and again for arguments ends soon, as an error.
func TestDetexIsBounded(t *testing.T) {
	for piece, n := range map[string]int{"{": 4000, `\frac{1}{`: 900, `\sqrt[`: 1300, `\begin{a}`: 900, `\frac{`: 40,
		"$$$": 2700, " ": 8000, `\frac`: 1600, `\hat`: 2000, `\left(`: 1000} {
		text := strings.Repeat(piece, n)
		if out, err := detex(text); err == nil && len(out) > 8*len(text) {
			t.Errorf("%.20q… gives %d bytes", text, len(out))
		}
	}
}
