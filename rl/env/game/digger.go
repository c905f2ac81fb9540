package game

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// diggers lends digger out, so that as many rooms are dug at a time as there are processors: each needs megabytes.
type diggers chan *digger

func newDiggers() diggers {
	d := make(diggers, runtime.GOMAXPROCS(0))
	for range cap(d) {
		d <- new(digger)
	}
	return d
}

func (d diggers) take() *digger  { return <-d }
func (d diggers) give(x *digger) { d <- x }

// digger makes Sokoban rooms as upstream does (after Schrader's gym-sokoban): a drunken walk digs the floor, boxes and
// player are put on targets, and a search through the moves backwards pulls the boxes as far away as it finds.
type digger struct {
	n         int
	structure []byte // wall, floor and target
	room      []byte // boxes on their targets, and the player
	pull      puller
}

// dig makes the room of a seed. Upstream makes 50 attempts of 1,000 tries; each attempt has its own generators.
func (d *digger) dig(seed uint64, n, boxes int) (structure, cells []byte, err error) {
	d.n = n
	for attempt := range uint64(50) {
		r, place := python.New(seed+attempt), python.DefaultRNG(seed+attempt)
		for range 1000 {
			d.hollow(r)
			if !d.furnish(place, boxes) || frozen(d.room, n) {
				continue
			}
			cells, score := d.pull.run(d.structure, d.room, n)
			if score > 0 && !d.cornered(cells) && !frozen(cells, n) {
				return slices.Clone(d.structure), cells, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("no room of %dx%d cells with %d boxes was found; take more cells or fewer boxes", n, n,
		boxes)
}

// brushes are the cells that the walk digs around each place, in rows of three.
var brushes = [5]string{"000111000", "010010010", "000110010", "000110110", "000011010"}

// hollow digs the floor.
func (d *digger) hollow(r *python.Random) {
	n := d.n
	steps := [4][2]int{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}
	d.structure = slices.Grow(d.structure[:0], n*n)[:n*n]
	clear(d.structure)
	step := steps[r.Below(4)]
	row, col := r.Int(1, n-1), r.Int(1, n-1)
	for range int(1.7 * float64(n+n)) {
		if r.Float64() < 0.35 {
			step = steps[r.Below(4)]
		}
		row, col = min(max(row+step[0], 1), n-2), min(max(col+step[1], 1), n-2)
		for i, b := range []byte(brushes[r.Below(5)]) {
			if b == '1' {
				d.structure[(row-1+i/3)*n+col-1+i%3] = floor
			}
		}
	}
	for i := range n {
		for _, edge := range [4]int{i, (n-1)*n + i, i * n, i*n + n - 1} {
			d.structure[edge] = wall
		}
	}
}

// furnish puts the player and the boxes on the floor. It reports false if there is too little of it.
func (d *digger) furnish(g *python.Generator, boxes int) bool {
	free := bytes.Count(d.structure, []byte{floor})
	if free <= boxes+1 {
		return false
	}
	d.room = append(d.room[:0], d.structure...)
	d.room[d.floor(g.Integer(free))] = player
	for i := range boxes {
		at := d.floor(g.Integer(free - 1 - i))
		d.room[at], d.structure[at] = box, target
	}
	return true
}

// floor is the place of the k-th free cell of the room.
func (d *digger) floor(k int) int {
	for at, c := range d.room {
		if c == floor {
			if k == 0 {
				return at
			}
			k--
		}
	}
	return -1
}

// frozen reports whether one of several boxes cannot be pushed at the start.
func frozen(cells []byte, n int) bool {
	if bytes.Count(cells, []byte{box})+bytes.Count(cells, []byte{boxOnTarget}) < 2 {
		return false
	}
	free := func(c byte) bool { return c == floor || c == target }
	for at, c := range cells {
		if c != box && c != boxOnTarget {
			continue
		}
		movable := false
		for d := up; d <= right; d++ {
			row, col := d.step()
			step := row*n + col
			behind := cells[at-step]
			movable = movable || free(cells[at+step]) && (free(behind) || behind == player)
		}
		if !movable {
			return true
		}
	}
	return false
}

// cornered is upstream's test for boxes that walls hold. It takes two walls face to face for a corner and misses two of
// the corners, which only changes which rooms are taken.
func (d *digger) cornered(cells []byte) bool {
	for at, c := range cells {
		if c != box || d.structure[at] == target {
			continue
		}
		var walls []int
		for i, step := range [4]int{-d.n, d.n, -1, 1} {
			if cells[at+step] == wall {
				walls = append(walls, i)
			}
		}
		if len(walls) > 2 || len(walls) == 2 && (walls[1]-walls[0])%2 == 1 {
			return true
		}
	}
	return false
}
