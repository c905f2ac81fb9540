package trinity

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxWidth is the longest a line of Go may be, in columns; a tab counts as four.
const maxWidth = 120

// generated is the line that marks a file as written by a program: https://go.dev/s/generatedcode.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// TestLineWidth holds the width of lines, those of tests included. Generated files are excepted.
func TestLineWidth(t *testing.T) {
	for path, text := range goFiles(t) {
		n := 0
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
			n++
			if columns := width(lines.Text()); columns > maxWidth {
				t.Errorf("%s:%d has %d columns; the most is %d, a tab counting as four", path, n, columns, maxWidth)
			}
		}
	}
}

func TestWidth(t *testing.T) {
	for _, tt := range []struct {
		line string
		want int
	}{{"", 0}, {"abc", 3}, {"\t\tx", 9}, {"a\tb", 6}, {"αβ…", 3}} {
		if got := width(tt.line); got != tt.want {
			t.Errorf("width(%q) = %d, want %d", tt.line, got, tt.want)
		}
	}
}

// width counts a line's columns.
func width(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

// goFiles reads all Go files of the project that no program has written, those of nested modules included.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || path == "bin"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !generated.Match(text) {
			files[path] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
