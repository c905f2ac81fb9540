// Package forest arranges sequences of tokens as trees: what sequences have in common from their beginning is there
// once. A training pass over a forest computes each of its tokens once.
//
// What is shared depends on the sequences and their order alone.
package forest

// Shared is the fewest tokens that a sequence must have in common with a tree to join it.
const Shared = 32

// Node is a run of tokens, at positions Pos, Pos+1, … of every sequence that passes through it.
type Node struct {
	Tokens []int32
	Pos    int
	Row    int   // of its first token
	Next   []int // the nodes that continue it, in the order in which sequences first needed them
}

// Forest is the trees of some sequences. A node comes before those that continue it, and a tree's nodes are
// neighbours. Rows are the nodes' tokens, one after another.
type Forest struct {
	Nodes []Node
	Roots []int
	Paths [][]int // by sequence, the nodes that hold its tokens; it may end within the last one
	Rows  int
}

// Of returns the forest of sequences that are not empty. A tree has at most so many tokens, or those of one longer
// sequence; with most 0, sequences share nothing.
func Of(sequences [][]int32, most int) *Forest {
	g := Growing{most: most}
	for _, s := range sequences {
		g.Add(s)
	}
	f := &Forest{Paths: make([][]int, len(sequences))}
	for _, t := range g.trees {
		f.Roots = append(f.Roots, f.list(t.root, 0))
		for _, i := range t.sequences {
			f.Paths[i] = f.path(f.Roots[len(f.Roots)-1], sequences[i])
		}
	}
	return f
}

// list appends a branch and those that continue it, and returns its index.
func (f *Forest) list(b *branch, pos int) int {
	at := len(f.Nodes)
	f.Nodes = append(f.Nodes, Node{Tokens: b.tokens, Pos: pos, Row: f.Rows})
	f.Rows += len(b.tokens)
	for _, next := range b.next {
		i := f.list(next, pos+len(b.tokens))
		f.Nodes[at].Next = append(f.Nodes[at].Next, i)
	}
	return at
}

// path returns the nodes of a sequence from node at on.
func (f *Forest) path(at int, sequence []int32) []int {
	path := []int{at}
	for {
		n := &f.Nodes[at]
		if len(sequence) <= len(n.Tokens) {
			return path
		}
		sequence = sequence[len(n.Tokens):]
		for _, next := range n.Next {
			if f.Nodes[next].Tokens[0] == sequence[0] {
				at = next
			}
		}
		path = append(path, at)
	}
}

// Each calls do for the stretches of a sequence of n tokens: its positions from to to-1 are the rows from row on.
func (f *Forest) Each(sequence, n int, do func(row, from, to int)) {
	for _, i := range f.Paths[sequence] {
		node := &f.Nodes[i]
		do(node.Row, node.Pos, min(node.Pos+len(node.Tokens), n))
	}
}

// Growing is a forest that sequences are added to.
type Growing struct {
	Tokens int // of all trees
	added  int
	trees  []*tree
	most   int
}

// Grow returns an empty forest whose trees have at most so many tokens.
func Grow(most int) *Growing { return &Growing{most: most} }

type tree struct {
	root      *branch
	tokens    int
	sequences []int
}

type branch struct {
	tokens []int32
	next   []*branch
}

// Add adds a sequence to the tree that it has most in common with, or makes a tree of it.
func (g *Growing) Add(sequence []int32) {
	t, common := g.find(sequence)
	if t == nil {
		t = &tree{root: &branch{tokens: sequence}}
		g.trees = append(g.trees, t)
	} else {
		t.root.grow(sequence)
	}
	t.sequences = append(t.sequences, g.added)
	t.tokens += len(sequence) - common
	g.Tokens += len(sequence) - common
	g.added++
}

// Missing returns how many tokens Add would add.
func (g *Growing) Missing(sequence []int32) int {
	_, common := g.find(sequence)
	return len(sequence) - common
}

// find returns the tree for a sequence and how many tokens they have in common.
func (g *Growing) find(sequence []int32) (best *tree, common int) {
	for _, t := range g.trees {
		n := t.root.common(sequence)
		if n >= Shared && n > common && t.tokens+len(sequence)-n <= g.most {
			best, common = t, n
		}
	}
	return best, common
}

// common returns how many tokens a sequence has in common with one from b on.
func (b *branch) common(sequence []int32) int {
	n := prefix(b.tokens, sequence)
	if n == len(b.tokens) && n < len(sequence) {
		if next := b.nextOf(sequence[n]); next != nil {
			n += next.common(sequence[n:])
		}
	}
	return n
}

// grow adds a sequence that begins with b's first token.
func (b *branch) grow(sequence []int32) {
	n := prefix(b.tokens, sequence)
	if n == len(sequence) {
		return
	}
	if n < len(b.tokens) {
		b.tokens, b.next = b.tokens[:n:n], []*branch{{tokens: b.tokens[n:], next: b.next}}
	}
	if next := b.nextOf(sequence[n]); next != nil {
		next.grow(sequence[n:])
		return
	}
	b.next = append(b.next, &branch{tokens: sequence[n:]})
}

// nextOf returns the branch that continues b with a token, or nil.
func (b *branch) nextOf(token int32) *branch {
	for _, next := range b.next {
		if next.tokens[0] == token {
			return next
		}
	}
	return nil
}

// prefix returns the length of the longest common prefix.
func prefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
