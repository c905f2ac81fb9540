package game

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// towerOfHanoi: carry the disks from tower A to C. Only the solution is paid, and at the end the disks on C.
type towerOfHanoi struct {
	p      env.Params
	disks  int
	towers [3][]int // from the bottom
}

func newTowerOfHanoi(p env.Params) (env.Env, error) {
	return newGame(&towerOfHanoi{p: p}), check(p, turns, limits{"num_disks", 1, 1000, true})
}

func (g *towerOfHanoi) deal(_ uint64, r *python.Random) (int, string, error) {
	limit := g.p["max_turns"]
	g.disks = g.p["num_disks"]
	if anyDrawn(g.p, "num_disks", "max_turns") {
		level := [3][2]int{{3, 10}, {4, 20}, {5, 35}}[r.Below(3)]
		g.disks, limit = level[0], level[1]
	}
	g.towers = [3][]int{}
	for d := g.disks; d > 0; d-- {
		g.towers[0] = append(g.towers[0], d)
	}
	return limit, fmt.Sprintf(`You are playing Tower of Hanoi with %d disks.
Carry all disks from tower A to tower C.
Name the tower to take a disk from and the tower to put it on inside \boxed{} (e.g., '\boxed{A C}'); nothing else `+
		`counts.
- One disk is moved at a time.
- Only the top disk of a tower can be taken.
- A disk cannot lie on a smaller one.
Your moves will be listed below.
`, g.disks), nil
}

func (g *towerOfHanoi) play(t *turn, action string) {
	var from, to int
	found := false
	for c := moves(action); !found && c.next(); {
		from, to, found = c.towers()
	}
	if !found {
		t.malform().say("You did not provide a valid action.")
		return
	}
	source, target := g.towers[from], g.towers[to]
	a, b := "ABC"[from:from+1], "ABC"[to:to+1]
	if len(source) == 0 {
		t.at().say("you tried to move from tower ").say(a).say(", which is empty.")
		return
	}
	disk := source[len(source)-1]
	if len(target) > 0 && target[len(target)-1] < disk {
		t.at().say("you tried to move from tower ").say(a).say(" to tower ").say(b)
		t.say(", but the top disk on tower ").say(a).say(" is larger than the top disk on tower ").say(b).say(".")
		return
	}
	t.moved = true
	g.towers[from] = source[:len(source)-1]
	g.towers[to] = append(g.towers[to], disk)
	if len(g.towers[2]) == g.disks {
		t.win(1).say("Congratulations! You solved the Tower of Hanoi Puzzle")
		return
	}
	t.at().say("you moved disk ").num(disk).say(" from tower ").say(a).say(" to tower ").say(b).say(".")
}

// towers takes the letters of two towers, with a comma between them or not, and the closing brace.
func (c *cursor) towers() (from, to int, ok bool) {
	if from, ok = c.tower(); !ok {
		return 0, 0, false
	}
	c.spaces()
	c.byte(',')
	c.spaces()
	to, ok = c.tower()
	return from, to, ok && c.close()
}

// tower takes the letter of a tower.
func (c *cursor) tower() (int, bool) {
	if c.at == len(c.text) {
		return 0, false
	}
	i := int(c.text[c.at]|0x20) - 'a'
	if i < 0 || i > 2 {
		return 0, false
	}
	c.at++
	return i, true
}

func (g *towerOfHanoi) timeout(t *turn) {
	standard{}.timeout(t)
	t.reward = float64(len(g.towers[2])) / float64(g.disks)
}

func (g *towerOfHanoi) suffix(b []byte) []byte {
	b = append(b, "Here is the current state of the tower of hanoi:\n"...)
	for i, tower := range g.towers {
		b = append(b, 'A'+byte(i), ':', ' ', '[')
		for j, disk := range tower {
			if j > 0 {
				b = append(b, ", "...)
			}
			b = appendRight(b, disk, 1)
		}
		b = append(b, "]\n"...)
	}
	return append(b, "\nEnter your move."...)
}

func (g *towerOfHanoi) fork() rules {
	c := *g
	for i := range c.towers {
		c.towers[i] = slices.Clone(g.towers[i])
	}
	return &c
}

func (g *towerOfHanoi) sample(s env.Draws) string {
	return boxedText("ABC"[s.IntN(3):][:1] + " " + "ABC"[s.IntN(3):][:1])
}
