package monitor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSamplesLimit(t *testing.T) {
	for _, c := range []struct {
		arg  any
		want int
		bad  bool
	}{{nil, 16, false}, {0, 0, false}, {3, 3, false}, {uint64(5), 5, false}, {-1, 0, true}, {"many", 0, true},
		{1.5, 0, true}} {
		n, err := Config{Args: map[string]any{"rollouts_per_step": c.arg}}.sampleLimit()
		if n != c.want || (err != nil) != c.bad {
			t.Errorf("%v is %d, %v, want %d", c.arg, n, err, c.want)
		}
	}
}

// The samples that a sink gets are spread over the step's file. A line that is being written is not read.
func TestSomeOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "step.jsonl")
	text := ""
	for i := range 10 {
		text += fmt.Sprintf(`{"v":2,"id":"s%d","prompt":%q}`+"\n", i, strings.Repeat("long ", 1+i/9<<21))
	}
	if err := os.WriteFile(path, []byte(text+`{"v":2,"id":"s1`), 0o644); err != nil {
		t.Fatal(err)
	}
	all := "s0 s1 s2 s3 s4 s5 s6 s7 s8 s9"
	for n, want := range map[int]string{3: "s0 s3 s6", 10: all, 99: all} {
		list, err := someOf(path, n)
		var ids []string
		for _, r := range list {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != want {
			t.Errorf("%d of ten: %s %v, want %s", n, got, err, want)
		}
	}
}
