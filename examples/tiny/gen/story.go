package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A story is a problem being told: what has been said and the count so far.
type story struct {
	r       *rand.Rand
	words   *strings.Replacer // for the placeholders that stay the same
	told    []string
	asked   string
	prose   []string
	steps   []step
	numbers []int
	count   int
}

func newStory(r *rand.Rand) *story {
	n := r.IntN(len(names))
	m := (n + 1 + r.IntN(len(names)-1)) % len(names)
	return &story{r: r, words: strings.NewReplacer(
		"{n}", names[n], "{m}", names[m], "{o}", pick(r, objects), "{c}", pick(r, containers),
	)}
}

// tell tells a story of n steps and reports whether all its numbers fit.
func (s *story) tell(n int) bool {
	s.open()
	for len(s.steps) < n-1 {
		s.change()
	}
	s.close(n)
	for _, t := range s.steps {
		if t.z < 1 || t.z > maxNumber {
			return false
		}
	}
	return len(s.steps) == n
}

// open gives the first count: alone, as a product, or as a sum.
func (s *story) open() {
	switch p := s.r.IntN(100); {
	case p < 50:
		s.count = between(s.r, 3, 25)
		s.say(pick(s.r, hasSome), s.count)
	case p < 80:
		x, y := between(s.r, 2, 6), between(s.r, 2, 9)
		s.count = x
		t := pick(s.r, hasPacked)
		s.say(t.text, x, y)
		s.work('*', y, t.solution)
	default:
		x, y := between(s.r, 2, 20), between(s.r, 2, 20)
		s.count = x
		t := pick(s.r, hasTwoKinds)
		s.say(t.text, x, y)
		s.work('+', y, t.solution)
	}
}

// change lets the count grow or shrink by one step.
func (s *story) change() {
	var t sentence
	var op byte
	var x int
	switch p := s.r.IntN(100); {
	case p < 10 && s.count <= 20:
		t, op, x = pick(s.r, growths), '*', between(s.r, 2, 3)
	case p < 55 && s.count > 3:
		t, op, x = pick(s.r, losses), '-', between(s.r, 2, min(s.count-1, 15))
	default:
		t, op, x = pick(s.r, gains), '+', between(s.r, 2, 15)
	}
	s.say(t.text, x)
	s.work(op, x, t.solution)
}

// close asks the question. When a step of the n is still open, either a last
// change or a fact in the ending makes it.
func (s *story) close(n int) {
	e, op, x := pick(s.r, asksCount), byte(0), 0
	if len(s.steps) < n {
		if s.r.IntN(100) < 60 {
			s.change()
		} else {
			e, op, x = s.lastFact()
		}
	}
	if op != 0 {
		s.say(e.fact, x)
		s.work(op, x, e.solution)
	}
	s.asked = s.fill(e.question)
}

// lastFact draws an ending that takes one more step.
func (s *story) lastFact() (e ending, op byte, x int) {
	p := s.r.IntN(100)
	if p < 30 {
		if d := divisors(s.count); len(d) > 0 {
			return pick(s.r, asksShare), '/', pick(s.r, d)
		}
	}
	switch {
	case p < 60 && s.count <= 20:
		return pick(s.r, asksTimes), '*', between(s.r, 2, 4)
	case p < 80 && s.count > 3:
		return pick(s.r, asksFewer), '-', between(s.r, 2, min(s.count-1, 15))
	default:
		return pick(s.r, asksMore), '+', between(s.r, 2, 15)
	}
}

// say adds a sentence with its numbers {x} and {y}.
func (s *story) say(text string, numbers ...int) {
	s.numbers = append(s.numbers, numbers...)
	for i, x := range numbers {
		text = strings.ReplaceAll(text, [2]string{"{x}", "{y}"}[i], strconv.Itoa(x))
	}
	s.told = append(s.told, s.fill(text))
}

// work adds the step count op y, and its sentence of the solution.
func (s *story) work(op byte, y int, solution string) {
	t := step{x: s.count, op: op, y: y}
	switch op {
	case '+':
		t.z = t.x + y
	case '-':
		t.z = t.x - y
	case '*':
		t.z = t.x * y
	case '/':
		t.z = t.x / y
	}
	s.count = t.z
	s.steps = append(s.steps, t)
	equation := fmt.Sprintf("%d %c %d = %d", t.x, t.op, t.y, t.z)
	s.prose = append(s.prose, strings.Replace(s.fill(solution), "%s", equation, 1))
}

// fill puts the story's words in place of the placeholders.
func (s *story) fill(text string) string { return s.words.Replace(text) }

// problem is the story told: in one of seven the question comes first.
func (s *story) problem() problem {
	parts := append(append([]string(nil), s.told...), s.asked)
	if s.r.IntN(7) == 0 {
		parts = append([]string{s.asked}, s.told...)
	}
	return problem{question: strings.Join(parts, " "), prose: s.prose, steps: s.steps, numbers: s.numbers}
}

// divisors are the numbers of 2 to 9 that divide n into several.
func divisors(n int) []int {
	var list []int
	for d := 2; d <= 9; d++ {
		if n%d == 0 && n > d {
			list = append(list, d)
		}
	}
	return list
}
