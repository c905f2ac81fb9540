package taskprep

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// filter keeps the rows that a condition holds for.
type filter func(s *Sample) (bool, error)

// Process implements Operator.
func (f filter) Process(_ context.Context, list []*Sample) (kept []*Sample, _ map[string]float64, err error) {
	for _, s := range list {
		ok, err := f(s)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			kept = append(kept, s)
		}
	}
	return kept, nil, nil
}

// newFieldFilter keeps the rows with all of a field's values among some.
func newFieldFilter(args map[string]any) (Operator, error) {
	a := arg.Read(args)
	key, reversed := a.Text("field_key", ""), a.Bool("reversed_range", false)
	v, _ := a.Any("target_value")
	targets, _ := v.([]any)
	if err := a.Close(); err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, t := range targets {
		wanted[asJSON(t)] = true
	}
	return filter(func(s *Sample) (bool, error) {
		if key == "" || len(targets) == 0 {
			return true, nil
		}
		v, err := field(s.Row, key)
		if err != nil {
			return false, err
		}
		values, isList := v.([]any)
		if !isList {
			values = []any{v}
		}
		all := !slices.ContainsFunc(values, func(v any) bool { return !wanted[asJSON(v)] })
		return all != reversed, nil
	}), nil
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// newNumericFilter keeps the rows with a field's number within bounds, and drops those where it is none.
func newNumericFilter(args map[string]any) (Operator, error) {
	a := arg.Read(args)
	key, b := a.Text("field_key", ""), boundsOf(a, "min_value", math.Inf(-1), "max_value", math.Inf(1))
	if err := a.Close(); err != nil {
		return nil, err
	}
	return filter(func(s *Sample) (bool, error) {
		if key == "" {
			return true, nil
		}
		if _, err := field(s.Row, key); err != nil {
			return false, err
		}
		v, ok := number(s.Row, key)
		return ok && b.keep(v), nil
	}), nil
}

// newDeduplicator keeps the first of the rows with one text.
func (s Surroundings) newDeduplicator(args map[string]any) (Operator, error) {
	a := arg.Read(args)
	key, lower, bare := a.Text("text_key", s.TextKey), a.Bool("lowercase", false), a.Bool("ignore_non_character", false)
	if err := a.Close(); err != nil {
		return nil, err
	}
	seen := map[[md5.Size]byte]bool{}
	return filter(func(s *Sample) (bool, error) {
		text, err := textOf(s.Row, key)
		if err != nil {
			return false, err
		}
		if lower {
			text = strings.ToLower(text)
		}
		if bare {
			text = strings.Map(onlyCharacters, text)
		}
		hash := md5.Sum([]byte(strings.TrimSpace(text)))
		defer func() { seen[hash] = true }()
		return !seen[hash], nil
	}), nil
}

// onlyCharacters drops blanks, digits and ASCII's punctuation.
func onlyCharacters(r rune) rune {
	if unicode.IsSpace(r) || unicode.IsDigit(r) || r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
		return -1
	}
	return r
}

// topSelector keeps the rows with the highest (or lowest) numbers in a field, in the order of the numbers.
type topSelector struct {
	key     string
	ratio   float64
	most    int
	reverse bool
}

func newTopSelector(args map[string]any) (Operator, error) {
	a := arg.Read(args)
	t := topSelector{a.Text("field_key", ""), a.Float("top_ratio", 0), a.Int("topk", 0, 0), a.Bool("reverse", true)}
	if t.ratio < 0 || t.ratio > 1 || t.most < 0 {
		a.Wrong("top_ratio or topk", []any{t.ratio, t.most}, "from 0 to 1, and 1 or more")
	}
	return t, a.Close()
}

// Process implements Operator.
func (t topSelector) Process(_ context.Context, list []*Sample) ([]*Sample, map[string]float64, error) {
	if len(list) <= 1 || t.key == "" || t.ratio == 0 && t.most == 0 {
		return list, nil, nil
	}
	n := t.most
	if share := int(t.ratio * float64(len(list))); t.ratio > 0 && (n == 0 || share < n) {
		n = share
	}
	for _, s := range list {
		if _, ok := number(s.Row, t.key); !ok {
			return nil, nil, errors.New("field " + t.key + " is not a number in " + strings.Join(s.Row.Columns(), ", "))
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *Sample) int { return t.compare(a.Row, b.Row) })
	return list[:min(n, len(list))], nil, nil
}

func (t topSelector) compare(a, b dataset.Row) int {
	x, _ := number(a, t.key)
	y, _ := number(b, t.key)
	if t.reverse {
		x, y = y, x
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
