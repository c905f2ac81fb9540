package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A drill's response works out the chain of its question from left to right, with numbers that stories have.
func TestNewDrill(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		d := newDrill(r)
		lines := strings.Split(d.Response, "\n")
		if len(lines) != drillSteps {
			t.Fatalf("%q has %d steps, want %d", d.Response, len(lines), drillSteps)
		}
		var chain string
		var last int
		for i, line := range lines {
			var x, y, z int
			var op rune
			if _, err := fmt.Sscanf(line, "%d%c%d=%d", &x, &op, &y, &z); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if i == 0 {
				chain, last = fmt.Sprint(x), x
			}
			want := map[rune]int{'+': x + y, '-': x - y, '*': x * y, '/': x / max(1, y)}[op]
			if x != last || z != want || z < 1 || z > maxNumber || op == '/' && x%y != 0 {
				t.Fatalf("%q is wrong in\n%s", line, d.Response)
			}
			chain, last = chain+string(op)+fmt.Sprint(y), z
		}
		if chain != d.Question {
			t.Fatalf("question %q, but %q was worked out", d.Question, chain)
		}
	}
}
