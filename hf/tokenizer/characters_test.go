package tokenizer

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestCharacters compares parts of tokenizers with the library on texts full of rare and new characters, which it
// classes by the Unicode versions 16, 17 and some older ones (testdata/characters.py).
func TestCharacters(t *testing.T) {
	data, err := os.ReadFile("testdata/characters.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if len(rows) < 1500 {
		t.Fatalf("%d rows, want at least 1500", len(rows))
	}
	splitters := map[string]splitter{} // by their part, of which there are few
	for _, line := range rows {
		var row struct {
			Part         json.RawMessage
			Text, Normal string
			Pieces       []string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if row.Pieces == nil {
			normalize, err := parseNormalizer(row.Part)
			if err != nil {
				t.Fatal(err)
			}
			if got := normalize(row.Text); got != row.Normal {
				t.Errorf("%s makes %+q of %+q, want %+q", row.Part, got, row.Text, row.Normal)
			}
			continue
		}
		s, ok := splitters[string(row.Part)]
		if !ok {
			var part preTokenizerPart
			err := json.Unmarshal(row.Part, &part)
			if err == nil {
				s, err = part.splitter()
			}
			if err != nil {
				t.Fatalf("%s: %v", row.Part, err)
			}
			splitters[string(row.Part)] = s
		}
		if got := s.split(nil, row.Text); !slices.Equal(got, row.Pieces) {
			t.Errorf("%s splits %+q into\n%+q, want\n%+q", row.Part, row.Text, got, row.Pieces)
		}
	}
}
