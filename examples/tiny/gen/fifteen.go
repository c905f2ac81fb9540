package main

import (
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// A square is the board of game:FifteenPuzzle-v0-easy, row by row; 0 is the empty space.
type square [4]int

// slide moves the tile that a direction names; ok is false when there is none.
func (s square) slide(direction string) (_ square, ok bool) {
	space := 0
	for s[space] != 0 {
		space++
	}
	from := map[string]int{"up": space + 2, "down": space - 2}
	if space%2 == 0 {
		from["left"] = space + 1
	} else {
		from["right"] = space - 1
	}
	tile, ok := from[direction]
	if !ok || tile < 0 || tile > 3 {
		return s, false
	}
	s[space], s[tile] = s[tile], 0
	return s, true
}

// bestSlide is the first move on the shortest way home: the board has only 12 states, in a ring.
func (s square) bestSlide() (string, bool) {
	home := square{1, 2, 3, 0}
	best, least := "", 12
	for _, first := range directions() {
		before, at, ok := s, s, true
		if at, ok = s.slide(first); !ok {
			continue
		}
		for n := 1; n < least; n++ {
			if at == home {
				best, least = first, n
				break
			}
			for _, d := range directions() {
				if next, ok := at.slide(d); ok && next != before {
					before, at = at, next
					break
				}
			}
		}
	}
	return best, best != ""
}

func directions() []string { return []string{"up", "down", "left", "right"} }

// fifteenTeacher takes the shortest way.
func fifteenTeacher(seen string, _ *rng.Stream) (string, error) {
	var s square
	_, board, _ := strings.Cut(seen[max(0, strings.LastIndex(seen, "Here is the current board layout:")):], "\n")
	cells := strings.Fields(board)
	for i := range s {
		if i >= len(cells) {
			return "", fmt.Errorf("gen: no board in %q", seen)
		}
		s[i] = atoi(strings.Trim(cells[i], "_"))
	}
	d, ok := s.bestSlide()
	if !ok {
		return "", fmt.Errorf("gen: %v cannot be solved", s)
	}
	return `\boxed{` + d + `}`, nil
}
