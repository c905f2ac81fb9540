package source

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// A file that has no line yet is shown, one whose lines are no experiences is not.
func TestLinesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{"": "", `{"eid": {}`: "",
		"{\n":                           "line 1: it is no experience: unexpected EOF",
		`{"question": "1 + 1?"}` + "\n": "line 1: it is no experience: it has no eid"} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := (&Table{File: path}).Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A line is a record or an error, whatever it is.
func FuzzExperienceLine(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "upstream", "experiences.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"eid": {}, "prompt_length": -1e300, "reward": 1e999, "messages": [{"role": 1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := fromExperience(data)
		if err != nil {
			return
		}
		if _, _, err := rollout.Describe(line); err != nil || !json.Valid(line) {
			t.Errorf("the record is %s, %v", line, err)
		}
	})
}
