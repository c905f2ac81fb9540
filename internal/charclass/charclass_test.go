package charclass

import (
	"testing"
	"unicode"
)

// TestCounts: the classes have as many characters as the library said when table.go was made. They change with the
// tables of package unicode: make gen writes table.go for those of another version of Go.
func TestCounts(t *testing.T) {
	for name, d := range deltas {
		count := 0
		for _, s := range spansOf(Table(name)) {
			count += int(s.hi - s.lo + 1)
		}
		if name == "C" || name == "Cs" {
			count -= 0x800 // no text has surrogates, about which the library cannot be asked
		}
		if count != d.count {
			t.Errorf("%s has %d characters, want %d", name, count, d.count)
		}
	}
}

func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		class string
		r     rune
		want  bool
	}{
		{"L", 'a', true}, {"L", '1', false}, {"L", 0x1C89, true}, {"Lu", 0xA7DC, true}, {"Nd", 0x1E5F1, true},
		{"Mn", 0x1171E, false}, {"Mc", 0x1171E, true}, {"Han", 0x2EBF0, true}, {"Latin", 0xA7CB, true},
		{Word, '_', true}, {Word, '²', true}, {Word, 'ि', true}, {Word, '-', false}, {Word, 0x200D, false},
		{WordSet, '²', false}, {WordSet, 'ि', true},
		{Alphanumeric, '²', false}, {Alphanumeric, 0x200D, true}, {Alphanumeric, 'Ⓐ', true},
		{Numeric, 0x11DE0, true}, {Numeric, 'a', false}, {Punctuation, '$', true}, {Punctuation, 0x2E52, false},
		{Accent, 0x301, true}, {Accent, 0x898, false}, {Inert, 0x32FF, true}, {Inert, 'é', false},
	} {
		if got := unicode.Is(Table(tt.class), tt.r); got != tt.want {
			t.Errorf("%s has %U: %v, want %v", tt.class, tt.r, got, tt.want)
		}
	}
	if Table("Nonsense") != nil {
		t.Error("a name that is none has a table")
	}
	for from, to := range map[rune]rune{'A': 'a', 'É': 'é', 0x1C89: 0x1C8A, 0xA7CB: 0x264, 'ß': 'ß', '1': '1'} {
		if got := Lower(from); got != to {
			t.Errorf("the lower case of %U is %U, want %U", from, got, to)
		}
	}
}
