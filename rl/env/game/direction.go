package game

import "github.com/seed-d9ad8ee0/trinity/rl/env"

// direction is a move on a board.
type direction int

const (
	up direction = iota
	down
	left
	right
)

var directions = [4]string{"up", "down", "left", "right"}

func (d direction) String() string { return directions[d] }

// step is the change of row and column.
func (d direction) step() (row, col int) { return [4]int{-1, 1, 0, 0}[d], [4]int{0, 0, -1, 1}[d] }

func (d direction) reverse() direction { return d ^ 1 }

// direction takes the name of a direction and the closing brace.
func (c *cursor) direction() (direction, bool) {
	word := c.letters()
	for d, name := range directions {
		if word == name {
			return direction(d), c.close()
		}
	}
	return 0, false
}

// lastDirection finds the last direction of an action.
func lastDirection(action string) (d direction, ok bool) {
	for c := moves(action); !ok && c.next(); {
		d, ok = c.direction()
	}
	return d, ok
}

func sampleDirection(s env.Draws) string { return boxedText(directions[s.IntN(4)]) }
