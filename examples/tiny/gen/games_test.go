package main

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// A quarter of the demonstrated Fifteen moves are right by chance, and half of the others are the teacher's.
func TestFifteenDemos(t *testing.T) {
	c, err := playing()
	if err != nil {
		t.Fatal(err)
	}
	c.ids = []string{"game:FifteenPuzzle-v0-easy"}
	next, err := c.turns(3)
	if err != nil {
		t.Fatal(err)
	}
	best := 0
	for range 4000 {
		d, err := next()
		if err != nil {
			t.Fatal(err)
		}
		good, err := fifteenTeacher(d.Question, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.Response == good {
			best++
		}
	}
	if share := float64(best) / 4000; share < 0.59 || share > 0.66 {
		t.Errorf("%.3f of the moves are the best, want five eighths", share)
	}
}

// The shortest way home is found from each of the twelve boards.
func TestBestSlide(t *testing.T) {
	home := square{1, 2, 3, 0}
	seen := map[square]int{home: 0}
	for queue := []square{home}; len(queue) > 0; queue = queue[1:] {
		for _, d := range directions() {
			if next, ok := queue[0].slide(d); ok {
				if _, old := seen[next]; !old {
					seen[next] = seen[queue[0]] + 1
					queue = append(queue, next)
				}
			}
		}
	}
	if len(seen) != 12 {
		t.Fatalf("%d boards can be reached, want 12", len(seen))
	}
	for s, far := range seen {
		if s == home {
			continue
		}
		d, ok := s.bestSlide()
		next, moved := s.slide(d)
		if !ok || !moved || seen[next] != far-1 {
			t.Errorf("from %v, %d moves from home, %q leads to %v, %d moves from home", s, far, d, next, seen[next])
		}
	}
}

// Seven moves of the teacher carry three disks.
func TestHanoiTeacher(t *testing.T) {
	p := pegs{{3, 2, 1}, {}, {}}
	for range 7 {
		m, err := hanoiTeacher("\n"+p.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var ok bool
		if p, ok = p.move(m[7]-'A', m[9]-'A'); !ok {
			t.Fatalf("%s is not allowed in %v", m, p)
		}
	}
	if len(p[2]) != 3 {
		t.Errorf("after seven moves: %v", p)
	}
}

// The teacher guesses letters that many words have, never one that was guessed, and a word when few are left.
func TestHangmanTeacher(t *testing.T) {
	words := []string{"ant", "act", "art", "cat", "dog"}
	r := rng.New(1).Stream("test")
	const a, tt = "guessed a letter 'A' that is\n", "guessed a letter 'T' that is\n"
	for _, c := range []struct{ seen, want string }{
		{"\n  _   _   _ \n", `\boxed{a}`},
		{"you successfully guessed a letter 'A' that\n  A   _   _ \n", `\boxed{t}`},
		{a + tt + "  A   _   T \n", `\boxed{c}`},
		{"guessed a letter 'A' that is not\n  _   _   _ \n", `\boxed{dog}`},
		{a + tt + "guessed a letter 'C' that is not\nYou guessed 'ART'\n  A   _   T \n", `\boxed{ant}`},
	} {
		if got, err := hangmanTeacher(words)(c.seen, &r); err != nil || got != c.want {
			t.Errorf("%q: %s, %v; want %s", c.seen, got, err, c.want)
		}
	}
}
