package forest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A forest has the tokens of each sequence along its path, no two sequences of a tree's node part within it, and no
// tree is larger than allowed.
func TestForest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int{0, 50, 100, 1000}).Draw(t, "most")
		sequences := draw(t)
		f := Of(sequences, most)
		f.check(t, most)
		seen := 0
		for _, part := range append(f.Cut(rapid.IntRange(0, 300).Draw(t, "rows")), f) {
			part.check(t, most)
			rows := make([]int32, part.Rows)
			for _, n := range part.Nodes {
				copy(rows[n.Row:], n.Tokens)
			}
			for i, s := range part.Sequences {
				var got []int32
				part.Each(i, func(row, from, to int) {
					if from != len(got) {
						t.Fatalf("sequence %d: a stretch begins at %d, want %d", i, from, len(got))
					}
					got = append(got, rows[row:row+to-from]...)
				})
				if want := sequences[s.Index]; !slices.Equal(got, want) {
					t.Fatalf("sequence %d: %v, want %v", i, got, want)
				}
				seen++
			}
		}
		if seen != 2*len(sequences) {
			t.Fatalf("the parts and the whole have %d sequences, want twice %d", seen, len(sequences))
		}
	})
}

func (f *Forest) check(t *rapid.T, most int) {
	row := 0
	for i, n := range f.Nodes {
		if n.Row != row || len(n.Tokens) == 0 {
			t.Fatalf("node %d has %d tokens from row %d on, want row %d", i, len(n.Tokens), n.Row, row)
		}
		row += len(n.Tokens)
		var first []int32
		for _, next := range n.Next {
			c := f.Nodes[next]
			if next <= i || c.Pos != n.Pos+len(n.Tokens) || slices.Contains(first, c.Tokens[0]) {
				t.Fatalf("node %d is continued by %d at position %d", i, next, c.Pos)
			}
			first = append(first, c.Tokens[0])
		}
	}
	for i, tree := range f.Trees {
		if size := f.row(i+1) - f.row(i); size > most && len(f.Nodes[tree.Node].Tokens) < size {
			t.Fatalf("tree %d has %d tokens, the most is %d", i, size, most)
		}
	}
}

// draw returns sequences that continue beginnings of each other.
func draw(t *rapid.T) [][]int32 {
	var list [][]int32
	token := rapid.Int32Range(0, 2)
	for range rapid.IntRange(1, 12).Draw(t, "sequences") {
		var s []int32
		if len(list) > 0 && rapid.Bool().Draw(t, "continues") {
			from := rapid.SampledFrom(list).Draw(t, "from")
			s = slices.Clone(from[:rapid.IntRange(0, len(from)).Draw(t, "common")])
		}
		list = append(list, append(s, rapid.SliceOfN(token, 1, 60).Draw(t, "tokens")...))
	}
	return list
}

// Common beginnings are there once, in the order of the sequences, unless they are short or the tree is full.
func TestShared(t *testing.T) {
	prompt := make([]int32, 100)
	with := func(more ...int32) []int32 { return append(slices.Clone(prompt), more...) }
	for _, c := range []struct {
		most      int
		sequences [][]int32
		rows      int
		trees     int
	}{
		{1000, [][]int32{with(1, 2), with(1, 3), with(4)}, 100 + 4, 1},
		{1000, [][]int32{with(1, 2), prompt, prompt[:50]}, 102, 1},
		{1000, [][]int32{prompt[:31], with(1)}, 31 + 101, 2},
		{1000, [][]int32{prompt[:32], with(1)}, 101, 1},
		{103, [][]int32{with(1, 2), with(1, 3), with(4), with(4, 5)}, 103 + 102, 2},
		{0, [][]int32{with(1), with(1)}, 202, 2},
	} {
		f := Of(c.sequences, c.most)
		if f.Rows != c.rows || len(f.Trees) != c.trees {
			t.Errorf("at most %d tokens: %d rows in %d trees, want %d in %d", c.most, f.Rows, len(f.Trees),
				c.rows, c.trees)
		}
	}
}
