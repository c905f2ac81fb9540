package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var digits = regexp.MustCompile(`\d+`)

// numbersIn reads every number of a text.
func numbersIn(text string) []int {
	var out []int
	for _, d := range digits.FindAllString(text, -1) {
		n, _ := strconv.Atoi(d)
		out = append(out, n)
	}
	return out
}

func TestProblemsAreSound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var bySteps [4]int
	ops := map[byte]int{}
	for range 5000 {
		p := newProblem(r)
		bySteps[len(p.steps)]++
		for i, s := range p.steps {
			ops[s.op]++
			want := map[byte]int{'+': s.x + s.y, '-': s.x - s.y, '*': s.x * s.y, '/': s.x / max(s.y, 1)}[s.op]
			if s.z != want || s.op == '/' && s.z*s.y != s.x || s.z < 1 || s.z > maxNumber {
				t.Fatalf("%q: step %v is wrong", p.question, s)
			}
			if i > 0 && s.x != p.steps[i-1].z {
				t.Fatalf("%q: step %v does not continue %v", p.question, s, p.steps[i-1])
			}
		}
		if got := numbersIn(p.question); !slices.Equal(got, p.numbers) {
			t.Fatalf("%q: numbers %v, recorded %v", p.question, got, p.numbers)
		}
		if strings.ContainsAny(p.question, "{}%") || strings.Contains(strings.Join(p.prose, ""), "{") {
			t.Fatalf("a placeholder is left in %q or %q", p.question, p.prose)
		}
	}
	for n := 1; n <= 3; n++ {
		if bySteps[n] < 500 {
			t.Errorf("%d of 5000 problems take %d steps, want 500 at least", bySteps[n], n)
		}
	}
	for _, op := range []byte("+-*/") {
		if ops[op] < 200 {
			t.Errorf("%c occurs %d times in 5000 problems, want 200 at least", op, ops[op])
		}
	}
}

func TestSolutions(t *testing.T) {
	p := problem{
		question: "Ben has 3 bags with 4 nuts in each. Then Ben loses 5. How many nuts are there in the end?",
		prose:    []string{"The bags hold 3 * 4 = 12 nuts.", "After the loss 12 - 5 = 7 are left."},
		steps:    []step{{3, '*', 4, 12}, {12, '-', 5, 7}},
	}
	if got, want := p.task().Answer,
		"The bags hold 3 * 4 = 12 nuts.\nAfter the loss 12 - 5 = 7 are left.\n#### 7"; got != want {
		t.Errorf("task: got %q, want %q", got, want)
	}
	if got, want := p.solved(true).Response, "<think>3*4=12\n12-5=7</think><answer>7</answer>"; got != want {
		t.Errorf("worked: got %q, want %q", got, want)
	}
	if got, want := p.solved(false).Response, "<think></think><answer>7</answer>"; got != want {
		t.Errorf("answer only: got %q, want %q", got, want)
	}
}

func TestPartsShareNoNumbers(t *testing.T) {
	owner := map[string]part{}
	for _, which := range []part{pretrain, train, test} {
		next := problems(1, which)
		for range 500 {
			p := next()
			key := fmt.Sprint(numbersIn(p.question))
			if other, ok := owner[key]; ok && other != which {
				t.Fatalf("numbers %s are in part %d and part %d", key, other, which)
			}
			owner[key] = which
		}
	}
}

func TestQuestionsAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	next := problems(1, train)
	for range trainRows {
		if q := next().question; seen[q] {
			t.Fatalf("%q twice", q)
		} else {
			seen[q] = true
		}
	}
}

func TestWorkedShare(t *testing.T) {
	const first, n = 1000, 6000
	next := solutions(1, first)
	worked := 0
	for i := range n {
		isWorked := !strings.HasPrefix(next().Response, "<think></think>")
		if i < first && !isWorked {
			t.Fatalf("solution %d is not worked, want the first %d to be", i, first)
		}
		if i >= first && isWorked {
			worked++
		}
	}
	if got := 100 * worked / (n - first); got < 35 || got > 40 {
		t.Errorf("%d %% of the later solutions are worked, want 35 to 40", got)
	}
}
