package rollout

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unsafe"
)

// Filter says which rows are wanted. The zero value wants all that is trained on.
type Filter struct {
	Set       string // "" selects samples that are trained on, "*" all
	Steps     []int
	Groups    []string
	Keys      []uint64
	Repeat    *int
	RewardMin *float64
	RewardMax *float64 // below it, or equal to it if Closed is set
	Closed    bool
	Stop      string
	Signal    *bool
	Version   *int
	ToolsMin  *int
	TurnsMin  *int
	LengthMin *int
	LengthMax *int
}

// Place is a row of a table.
type Place struct{ File, Row int32 }

// At is a place's file and row.
func (t *Table) At(p Place) (*Indexed, *Row) {
	f := t.Files[p.File]
	return f, &f.Rows[p.Row]
}

// Select lists the rows that a filter wants, in the order of the table.
func (t *Table) Select(f *Filter) []Place {
	var list []Place
	for i, file := range t.Files {
		if file.Segment == nil || !f.Takes(&file.File) {
			continue
		}
		for j := range file.Rows {
			if f.row(file, j) {
				list = append(list, Place{int32(i), int32(j)})
			}
		}
	}
	return list
}

// Takes reports whether rows of a file may be wanted.
func (f *Filter) Takes(file *File) bool {
	if f.Set != "*" && f.Set != file.Set {
		return false
	}
	return len(f.Steps) == 0 || slices.Contains(f.Steps, file.Step)
}

func (f *Filter) row(file *Indexed, i int) bool {
	r := &file.Rows[i]
	switch {
	case len(f.Groups) > 0 && !slices.Contains(f.Groups, r.Group), len(f.Keys) > 0 && !slices.Contains(f.Keys, r.Key),
		f.Repeat != nil && int(r.Repeat) != *f.Repeat,
		f.RewardMin != nil && !(r.Reward >= *f.RewardMin),
		f.RewardMax != nil && !(r.Reward < *f.RewardMax || f.Closed && r.Reward == *f.RewardMax),
		f.Stop != "" && r.Stop != f.Stop,
		f.Signal != nil && file.Signal[i] != *f.Signal,
		f.Version != nil && int(r.Version) != *f.Version,
		f.ToolsMin != nil && int(r.ToolCalls) < *f.ToolsMin,
		f.TurnsMin != nil && int(r.Turns) < *f.TurnsMin,
		f.LengthMin != nil && int(r.Response) < *f.LengthMin, f.LengthMax != nil && int(r.Response) > *f.LengthMax:
		return false
	}
	return true
}

// Orders are the fields that rows can be sorted by.
func Orders() []string {
	return []string{"step", "reward", "advantage", "length", "prompt", "entropy", "turns", "tool_calls", "version",
		"task", "repeat"}
}

// Sort sorts places by a field of Orders, downwards with a minus in front, and by place if it is equal. Rows
// without the number come last. It reports whether the field is known.
func (t *Table) Sort(list []Place, order string) bool {
	name, down := strings.CutPrefix(order, "-")
	value := valueOf(name)
	if value == nil {
		return false
	}
	t.SortBy(list, down, func(p Place) float64 { return value(t.At(p)) })
	return true
}

// SortBy sorts places by a value, as Sort does.
func (t *Table) SortBy(list []Place, down bool, value func(Place) float64) {
	type keyed struct {
		v float64
		p Place
	}
	keys := make([]keyed, len(list))
	for i, p := range list {
		v := value(p)
		if down {
			v = -v
		}
		keys[i] = keyed{v, p}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		switch an, bn := math.IsNaN(a.v), math.IsNaN(b.v); {
		case an && !bn:
			return 1
		case bn && !an:
			return -1
		case a.v != b.v && !an:
			return cmp.Compare(a.v, b.v)
		}
		return cmp.Or(cmp.Compare(a.p.File, b.p.File), cmp.Compare(a.p.Row, b.p.Row))
	})
	for i, k := range keys {
		list[i] = k.p
	}
}

func valueOf(name string) func(*Indexed, *Row) float64 {
	switch name {
	case "step":
		return func(f *Indexed, _ *Row) float64 { return float64(f.Step) }
	case "reward":
		return func(_ *Indexed, r *Row) float64 { return r.Reward }
	case "advantage":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Advantage) }
	case "length":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Response) }
	case "prompt":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Prompt) }
	case "entropy":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Entropy) }
	case "turns":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Turns) }
	case "tool_calls":
		return func(_ *Indexed, r *Row) float64 { return float64(r.ToolCalls) }
	case "version":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Version) }
	case "task":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Task) }
	case "repeat":
		return func(_ *Indexed, r *Row) float64 { return float64(r.Repeat) }
	}
	return nil
}

// Memory is how many bytes the table takes, roughly.
func (t *Table) Memory() int {
	n := 0
	for _, f := range t.Files {
		n += 256
		if f.Segment != nil {
			n += len(f.Rows) * (int(unsafe.Sizeof(Row{})) + 8*len(f.Names) + 8)
		}
	}
	return n
}
