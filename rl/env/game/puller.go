package game

import "slices"

const (
	deepest  = 300     // moves on a path of the search
	explored = 300_000 // rooms that the search looks at
)

// puller searches the moves of a room backwards, depth first: the player walks, and pulls a box that is right behind
// him. A room's score is the number of pulls on the way to it times the distance of all boxes from their targets, and 0
// while a target is covered.
type puller struct {
	n         int
	structure []byte
	cells     []byte // boxOnTarget for a box that was pulled, box for one that never was
	boxes     []int  // places, box i belongs to targets[i]
	targets   []int
	player    int
	pulls     int
	distance  int
	covered   int // boxes and player on targets
	seen      set

	score int // the best so far
	best  []byte
}

// run returns the room with the highest score, the first of equal ones, and the score.
func (p *puller) run(structure, room []byte, n int) (best []byte, score int) {
	p.n, p.structure = n, structure
	p.cells = append(p.cells[:0], room...)
	p.boxes, p.targets = p.boxes[:0], p.targets[:0]
	p.pulls, p.distance, p.covered, p.score = 0, 0, 0, -1
	for at, c := range room {
		switch c {
		case box:
			p.boxes, p.targets = append(p.boxes, at), append(p.targets, at)
			p.covered++
		case player:
			p.player = at
		}
	}
	p.seen.reset()
	p.explore(deepest)
	for i, c := range p.best {
		if c == boxOnTarget {
			p.best[i] = box
		}
	}
	return slices.Clone(p.best), p.score
}

// explore looks at the present room and at the rooms one move away, with so many moves left.
func (p *puller) explore(left int) {
	left--
	if left <= 0 || p.seen.size >= explored || !p.seen.add(p.key()) {
		return
	}
	score := 0
	if p.covered == 0 {
		score = p.pulls * p.distance
	}
	if score > p.score {
		p.score = score
		p.best = append(p.best[:0], p.cells...)
	}
	for _, step := range [4]int{-p.n, p.n, -1, 1} {
		p.walk(step, left)
	}
}

// walk makes one move, explores what it leads to, and takes it back.
func (p *puller) walk(step, left int) {
	from, to, behind := p.player, p.player+step, p.player-step
	if c := p.cells[to]; c != floor && c != target {
		return
	}
	before, covered, pulls, distance := p.cells[behind], p.covered, p.pulls, p.distance
	ahead := p.cells[to]
	p.leave(from)
	p.stand(to, player)
	p.player = to
	pulled := -1
	if before == box || before == boxOnTarget {
		pulled = slices.Index(p.boxes, behind)
		p.leave(behind)
		p.stand(from, boxOnTarget)
		p.distance += p.apart(from, p.targets[pulled]) - p.apart(behind, p.targets[pulled])
		p.boxes[pulled] = from
		p.pulls++
	}
	p.explore(left)
	if pulled >= 0 {
		p.boxes[pulled] = behind
		p.cells[behind] = before
	}
	p.cells[to], p.cells[from], p.player = ahead, player, from
	p.covered, p.pulls, p.distance = covered, pulls, distance
}

// leave empties a cell.
func (p *puller) leave(at int) {
	p.cells[at] = p.structure[at]
	if p.structure[at] == target {
		p.covered--
	}
}

// stand puts a box or the player into a cell.
func (p *puller) stand(at int, c byte) {
	p.cells[at] = c
	if p.structure[at] == target {
		p.covered++
	}
}

// apart is the Manhattan distance of two cells.
func (p *puller) apart(a, b int) int { return abs(a/p.n-b/p.n) + abs(a%p.n-b%p.n) }

// key names the room: the player's cell and, in order, the boxes' cells with one bit for a box that was pulled. With
// at most 6 boxes on at most 256 cells it fits and is never 0.
func (p *puller) key() uint64 {
	var sorted [6]int
	for i, at := range p.boxes {
		code := at << 1
		if p.cells[at] == boxOnTarget {
			code |= 1
		}
		j := i
		for ; j > 0 && sorted[j-1] > code; j-- {
			sorted[j] = sorted[j-1]
		}
		sorted[j] = code
	}
	key := uint64(p.player)
	for _, code := range sorted[:len(p.boxes)] {
		key = key<<9 | uint64(code)
	}
	return key
}

// set is a hash set of numbers that are not 0, with linear probing.
type set struct {
	slots []uint64
	size  int
}

// reset empties the set.
func (s *set) reset() {
	if s.slots == nil {
		s.slots = make([]uint64, 1<<12)
	}
	clear(s.slots)
	s.size = 0
}

// add adds a number and reports whether it is new.
func (s *set) add(v uint64) bool {
	if 4*s.size >= 3*len(s.slots) {
		s.grow()
	}
	i := s.find(v)
	if s.slots[i] == v {
		return false
	}
	s.slots[i] = v
	s.size++
	return true
}

// find is the slot of a number, or the empty one where it belongs.
func (s *set) find(v uint64) int {
	mask := len(s.slots) - 1
	i := int(v*0x9e3779b97f4a7c15>>32) & mask
	for s.slots[i] != 0 && s.slots[i] != v {
		i = (i + 1) & mask
	}
	return i
}

func (s *set) grow() {
	old := s.slots
	s.slots = make([]uint64, 2*len(old))
	for _, v := range old {
		if v != 0 {
			s.slots[s.find(v)] = v
		}
	}
}
