package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// modelFiles are the files of a model folder but the weights.
var modelFiles = []string{"tokenizer.json", "tokenizer_config.json", "config.json", "generation_config.json"}

// TestCommittedFiles makes the example's files again and compares the bytes.
func TestCommittedFiles(t *testing.T) {
	for _, c := range []struct {
		command, folder string
		files           []string
	}{
		{"data", "../data", []string{"train.jsonl", "test.jsonl"}},
		{"expert", "../expert", []string{"train.jsonl"}},
		{"model", "../model", modelFiles},
		{"qwen35-model", "../qwen35", modelFiles},
		{"moe-model", "../moe", modelFiles},
		{"games-model", "../games/model", modelFiles},
		{"llama-model", "../../llama/model", modelFiles},
		{"guess-model", "../guess/model", modelFiles},
	} {
		t.Run(c.command, func(t *testing.T) {
			out := t.TempDir()
			if err := run([]string{c.command, "-out", out}, io.Discard); err != nil {
				t.Fatal(err)
			}
			for _, f := range c.files {
				got, want := read(t, filepath.Join(out, f)), read(t, filepath.Join(c.folder, f))
				if !bytes.Equal(got, want) {
					t.Errorf("%s differs from the committed file; run go run ./examples/tiny/gen %s", f, c.command)
				}
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPretrainRows(t *testing.T) {
	out := t.TempDir()
	if err := run([]string{"pretrain", "-out", out, "-rows", "10", "-seed", "7"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(read(t, filepath.Join(out, "train.jsonl")))), "\n")
	if len(lines) != 10 {
		t.Fatalf("%d rows, want 10", len(lines))
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, `{"question":"`) || !strings.Contains(l, `","response":"<think>`) {
			t.Errorf("row %s: want the columns question and response, tags unescaped", l)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "usage"},
		{[]string{"dta"}, `unknown command "dta"`},
		{[]string{"data", "-rowz", "3"}, "not defined: -rowz"},
		{[]string{"data", "-out", t.TempDir(), "more"}, `unexpected argument "more"`},
		{[]string{"data", "-out", file}, file},
	} {
		err := run(c.args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error with %q", c.args, err, c.want)
		}
	}
}

// A demonstration is what trinity gem shows the model, and half of the guesses are in the bounds that the hints leave.
func TestDemos(t *testing.T) {
	c, err := guessing()
	if err != nil {
		t.Fatal(err)
	}
	next, err := c.turns(3)
	if err != nil {
		t.Fatal(err)
	}
	hint := regexp.MustCompile(`the target number is (higher|lower) than (\d+)`)
	inside, all := 0, 0
	for range 4000 {
		d, err := next()
		if err != nil {
			t.Fatal(err)
		}
		low, high := 1, 50
		for _, m := range hint.FindAllStringSubmatch(d.Question, -1) {
			n, _ := strconv.Atoi(m[2]) // digits
			if m[1] == "higher" {
				low = max(low, n+1)
			} else {
				high = min(high, n-1)
			}
		}
		if !strings.HasPrefix(d.Question, "You are playing language games.") ||
			!strings.Contains(d.Question, "from 1 to 50") || low == 1 || high == 50 {
			continue
		}
		guess, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(d.Response, `\boxed{`), "}"))
		if err != nil {
			t.Fatalf("response %q", d.Response)
		}
		if all++; low <= guess && guess <= high {
			inside++
		}
	}
	// Of the others, that are any number, about a fifth are inside too.
	if share := float64(inside) / float64(all); all < 500 || share < 0.5 || share > 0.75 {
		t.Errorf("%.3f of %d guesses with both bounds known are inside them, want a little above a half", share, all)
	}
}

// A drill is a whole game: every guess is in the bounds that the text before it leaves.
func TestDrills(t *testing.T) {
	r := rng.New(5).Stream("drills")
	for range 200 {
		d := guessDrill(&r)
		low, high := 1, 50
		for _, line := range strings.Split(strings.TrimSuffix(d.Response, "\n"), "\n") {
			var turn, n, again int
			var how string
			const said = "At turn %d, you guessed %d, and the target number is %s than %d."
			if _, err := fmt.Sscanf(line, said, &turn, &n, &how, &again); err == nil {
				if how == "higher" {
					low = n + 1
				} else {
					high = n - 1
				}
				continue
			}
			if _, err := fmt.Sscanf(line, `\boxed{%d}`, &n); err != nil || n < low || n > high {
				t.Fatalf("guess %q with bounds %d to %d in\n%s", line, low, high, d.Response)
			}
		}
	}
}
