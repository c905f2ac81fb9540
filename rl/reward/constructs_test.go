package reward

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// understood are the spellings that upstream's parser refuses, or reads as the last number in them, and that are read
// here.
var understood = []string{`\sum`, `\prod`, `\lbrace`, `\{ \}`, "~", `\log_e`, `\in\{5\}`, `3^{ 2 }`, `\square 7`,
	`\operatorname`, `\max\{`, `\min\{`}

// construct is a row of testdata/constructs.jsonl: what math_verify says to a pair, and whether it has the value of a
// construct or only a number that stands in it.
type construct struct {
	Kind, Truth, Response string
	Value, Accepted       bool
}

// TestConstructs compares math_reward with math_verify on constructs of LaTeX in many spellings
// (testdata/constructs.py). What upstream does not accept is accepted only where it is spelled alike or one of
// understood, and the counts are the ones in the table of docs/results/graders.md.
func TestConstructs(t *testing.T) {
	counts := map[string]*[5]int{} // pairs, equal verdicts, only upstream: values, numbers in it; only here
	for _, row := range readRows[construct](t, "testdata/constructs.jsonl") {
		scores, err := Math(Sample{Response: row.Response, Truth: row.Truth})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := scores.Get("accuracy")
		c := counts[row.Kind]
		if c == nil {
			c = new([5]int)
			counts[row.Kind] = c
		}
		c[0]++
		switch {
		case (got == 1) == row.Accepted:
			c[1]++
		case got == 0 && row.Value:
			c[2]++
		case got == 0:
			c[3]++
		default:
			c[4]++
			pair := row.Truth + " " + row.Response
			bare := strings.Trim(row.Truth, "$")
			alike := row.Response == "The answer is "+bare || row.Response == `\boxed{`+bare+"}"
			if !alike && !slices.ContainsFunc(understood, func(s string) bool { return strings.Contains(pair, s) }) {
				t.Errorf("math_reward gives 1 to %q for %q, upstream does not", row.Response, row.Truth)
			}
		}
	}
	doc, err := os.ReadFile("../../docs/results/graders.md")
	if err != nil {
		t.Fatal(err)
	}
	total := [5]int{}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c := counts[kind]
		for i := range total {
			total[i] += c[i]
		}
		checkLine(t, string(doc), kind, *c)
	}
	checkLine(t, string(doc), "all", total)
}

func checkLine(t *testing.T, doc, kind string, c [5]int) {
	t.Helper()
	line := fmt.Sprintf("| %s | %d | %d | %d | %d | %d |\n", kind, c[0], c[1], c[2], c[3], c[4])
	if !strings.Contains(doc, line) {
		t.Errorf("docs/results/graders.md lacks %s", line)
	}
}
