package compute

import (
	"slices"
	"testing"
)

// A part is consecutive datums up to its size, or a longer one alone. What datums of a tree share counts once.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		part    int
		tree    int
		lengths []int // of datums that begin alike
		want    []int // datums of each part
	}{
		{100, 0, []int{100}, []int{1}},
		{100, 0, []int{60, 40, 1}, []int{2, 1}},
		{100, 0, []int{60, 41, 59}, []int{1, 2}},
		{100, 0, []int{400, 1, 99, 400, 400}, []int{1, 2, 1, 1}},
		{100, 100, []int{60, 40, 90, 70, 100, 101, 100}, []int{5, 2}},
		{100, 60, []int{50, 40, 60, 70, 50}, []int{3, 2}},
	} {
		var items []Item
		for i, n := range c.lengths {
			items = append(items, Item{index: i, tokens: make([]int32, n)})
		}
		var got []int
		next := 0
		for _, part := range (Division{c.part, c.tree}).Parts(items) {
			got = append(got, len(part))
			for _, it := range part {
				if it.index != next {
					t.Errorf("parts of %d tokens of %v: datum %d comes at %d", c.part, c.lengths, it.index, next)
				}
				next++
			}
		}
		if !slices.Equal(got, c.want) || next != len(items) {
			t.Errorf("parts of %d tokens of %v have %v datums, want %v", c.part, c.lengths, got, c.want)
		}
	}
}
