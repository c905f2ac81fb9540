package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// pegs are the towers of game:TowerofHanoi-v0-easy, each from the bottom.
type pegs [3][]int

// move carries the top disk of a tower; ok is false when that is not allowed.
func (p pegs) move(from, to byte) (_ pegs, ok bool) {
	a, b := p[from], p[to]
	if len(a) == 0 || len(b) > 0 && b[len(b)-1] <= a[len(a)-1] {
		return p, false
	}
	p[to] = append(slices.Clip(b), a[len(a)-1])
	p[from] = a[:len(a)-1]
	return p, true
}

// String writes the towers as the game does.
func (p pegs) String() string {
	var b strings.Builder
	for i, tower := range p {
		fmt.Fprintf(&b, "%c: %s\n", 'A'+i, strings.ReplaceAll(fmt.Sprint(tower), " ", ", "))
	}
	return b.String()
}

// hanoiTeacher makes the first move on the shortest way to all disks on C.
func hanoiTeacher(seen string, _ *rng.Stream) (string, error) {
	tower := regexp.MustCompile(`(?m)^([ABC]): \[([\d, ]*)\]`)
	var p pegs
	all := tower.FindAllStringSubmatch(seen, -1)
	for _, m := range all[max(0, len(all)-3):] {
		for _, d := range strings.Fields(strings.ReplaceAll(m[2], ",", "")) {
			p[m[1][0]-'A'] = append(p[m[1][0]-'A'], atoi(d))
		}
	}
	first := map[string]string{p.String(): ""} // of the way to each state that was met
	for queue := []pegs{p}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if len(at[0])+len(at[1]) == 0 {
			return first[at.String()], nil
		}
		for i := range byte(9) {
			from, to := i/3, i%3
			next, ok := at.move(from, to)
			if _, met := first[next.String()]; !ok || met {
				continue
			}
			way := first[at.String()]
			if way == "" {
				way = fmt.Sprintf(`\boxed{%c %c}`, 'A'+from, 'A'+to)
			}
			first[next.String()] = way
			queue = append(queue, next)
		}
	}
	return "", fmt.Errorf("gen: no towers in %q", seen)
}
