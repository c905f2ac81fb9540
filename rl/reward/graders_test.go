package reward

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// verdict is a row of testdata/graders.jsonl, what Trinity-RFT's own graders say (testdata/graders.py), or of
// graders_differ.jsonl, where one of ours says otherwise.
type verdict struct {
	Truth, Response string
	Accepted        []string // by these graders; the others give 0
	Grader, Reason  string   // of a difference
}

func readRows[T any](t *testing.T, path string) (rows []T) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestGraders holds the four graders of mathematics against upstream's on four thousand mixed answers. What differs is
// in graders_differ.jsonl with its reason, and nothing else may.
func TestGraders(t *testing.T) {
	type difference struct{ grader, truth, response string }
	known := map[difference]bool{}
	for _, row := range readRows[verdict](t, "testdata/graders_differ.jsonl") {
		if row.Reason == "" {
			t.Errorf("%+v has no reason", row)
		}
		known[difference{row.Grader, row.Truth, row.Response}] = true
	}
	differ := len(known)
	rows := readRows[verdict](t, "testdata/graders.jsonl")
	if len(rows) < 4000 {
		t.Fatalf("%d rows, want at least 4000", len(rows))
	}
	for _, row := range rows {
		for _, grader := range []string{"math_reward", "math_boxed_reward", "accuracy_reward", "math_dapo_reward"} {
			scores, err := Funcs()[grader](Sample{Response: row.Response, Truth: row.Truth})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := scores.Get("accuracy")
			agrees := (got == 1) == slices.Contains(row.Accepted, grader)
			d := difference{grader, row.Truth, row.Response}
			switch {
			case !agrees && !known[d]:
				t.Errorf("%s gives %v to %q for %q, upstream does not", grader, got, row.Response, row.Truth)
			case agrees && known[d]:
				t.Errorf("%s agrees with upstream on %q for %q by now; take the row out of graders_differ.jsonl",
					grader, row.Response, row.Truth)
			}
			delete(known, d)
		}
	}
	for d := range known {
		t.Errorf("graders_differ.jsonl has %+v, which is not a row of graders.jsonl", d)
	}
	t.Logf("%d answers, 4 graders: %d verdicts are upstream's, %d differ", len(rows), 4*len(rows)-differ, differ)
}
