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
// neighbours, as are its sequences. Rows are the nodes' tokens, one after another.
type Forest struct {
	Nodes     []Node
	Trees     []Tree
	Sequences []Sequence
	Rows      int
}

// Tree is where a tree begins.
type Tree struct{ Node, Sequence int }

// Sequence is one of the sequences that a forest was made of.
type Sequence struct {
	Index int // among these
	Len   int
	Path  []int // the nodes that hold its tokens; it may end within the last one
}

// Of returns the forest of sequences that are not empty. A tree has at most so many tokens, or those of one longer
// sequence; with most 0, sequences share nothing.
func Of(sequences [][]int32, most int) *Forest {
	g := Growing{most: most}
	for _, s := range sequences {
		g.Add(s)
	}
	f := &Forest{}
	for _, t := range g.trees {
		root := f.list(t.root, 0)
		f.Trees = append(f.Trees, Tree{root, len(f.Sequences)})
		for _, i := range t.sequences {
			f.Sequences = append(f.Sequences, Sequence{i, len(sequences[i]), f.path(root, sequences[i])})
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

// Each calls do for the stretches of sequence i: its positions from to to-1 are the rows from row on.
func (f *Forest) Each(i int, do func(row, from, to int)) {
	s := &f.Sequences[i]
	for _, at := range s.Path {
		n := &f.Nodes[at]
		do(n.Row, n.Pos, min(n.Pos+len(n.Tokens), s.Len))
	}
}

// Cut returns forests of neighbouring trees with at most so many rows each, or of one larger tree.
func (f *Forest) Cut(rows int) []*Forest {
	var list []*Forest
	a := 0
	for b := 1; b <= len(f.Trees); b++ {
		if b == len(f.Trees) || f.row(b+1)-f.row(a) > rows {
			list, a = append(list, f.part(a, b)), b
		}
	}
	return list
}

// Largest is the number of rows of the largest tree.
func (f *Forest) Largest() (rows int) {
	for t := range f.Trees {
		rows = max(rows, f.row(t+1)-f.row(t))
	}
	return rows
}

// row is the first row of a tree, or the number of rows.
func (f *Forest) row(tree int) int {
	if tree < len(f.Trees) {
		return f.Nodes[f.Trees[tree].Node].Row
	}
	return f.Rows
}

// part returns the forest of trees a to b-1.
func (f *Forest) part(a, b int) *Forest {
	if a == 0 && b == len(f.Trees) {
		return f
	}
	end := Tree{len(f.Nodes), len(f.Sequences)}
	if b < len(f.Trees) {
		end = f.Trees[b]
	}
	at := f.Trees[a]
	p := &Forest{Rows: f.row(b) - f.row(a)}
	for _, n := range f.Nodes[at.Node:end.Node] {
		n.Row, n.Next = n.Row-f.row(a), less(n.Next, at.Node)
		p.Nodes = append(p.Nodes, n)
	}
	for _, t := range f.Trees[a:b] {
		p.Trees = append(p.Trees, Tree{t.Node - at.Node, t.Sequence - at.Sequence})
	}
	for _, s := range f.Sequences[at.Sequence:end.Sequence] {
		s.Path = less(s.Path, at.Node)
		p.Sequences = append(p.Sequences, s)
	}
	return p
}

// less returns v with n subtracted from each.
func less(v []int, n int) []int {
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = x - n
	}
	return out
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

// find returns the tree that a sequence joins, or nil, and how many tokens they have in common.
func (g *Growing) find(sequence []int32) (best *tree, common int) {
	if g.most == 0 {
		return nil, 0
	}
	for _, t := range g.trees {
		n := t.root.common(sequence)
		fits := n == len(sequence) || t.tokens+len(sequence)-n <= g.most
		if n >= Shared && n > common && fits {
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
