package algorithm

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
)

// Args are the arguments of one function as they come from YAML: numbers, booleans, text or nil. A nil value means that
// the argument is not given.
type Args map[string]any

// argReader reads arguments one by one and remembers which it was asked for, so that close can name the unknown ones.
type argReader struct {
	args  Args
	known []string
	errs  []error
}

func readArgs(args Args) *argReader { return &argReader{args: args} }

func (r *argReader) get(name string) (any, bool) {
	r.known = append(r.known, name)
	v := r.args[name]
	return v, v != nil
}

func (r *argReader) wrong(name string, v any, want string) {
	r.errs = append(r.errs, &spell.Argument{Name: name, Text: fmt.Sprintf("is %v (%T); it must be %s", v, v, want)})
}

// number returns the argument, or def when it is not given. Text that is a number counts, because YAML 1.2 reads 1e-6
// as text.
func (r *argReader) number(name string, def float64) float64 {
	v, given := r.get(name)
	if !given {
		return def
	}
	x, ok := toFloat(v)
	if !ok || math.IsNaN(x) {
		r.wrong(name, v, "a number")
		return def
	}
	return x
}

// numberOrNil is number for an argument whose default is "none".
func (r *argReader) numberOrNil(name string) *float64 {
	if r.args[name] == nil {
		r.known = append(r.known, name)
		return nil
	}
	x := r.number(name, 0)
	return &x
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case string:
		x, err := strconv.ParseFloat(v, 64)
		return x, err == nil
	}
	return 0, false
}

func (r *argReader) boolean(name string, def bool) bool {
	v, given := r.get(name)
	if !given {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		r.wrong(name, v, "true or false")
	}
	return b
}

// text returns the argument as it stands, which must not be empty.
func (r *argReader) text(name, def string) string {
	v, given := r.get(name)
	if !given {
		return def
	}
	s, ok := v.(string)
	r.require(ok && s != "", name, v, "text")
	return s
}

// word returns one of the allowed words; the first is the default.
func (r *argReader) word(name string, allowed ...string) string {
	v, given := r.get(name)
	if !given {
		return allowed[0]
	}
	s, ok := v.(string)
	if !ok || !slices.Contains(allowed, s) {
		r.wrong(name, v, fmt.Sprintf("one of %v", allowed))
	}
	return s
}

// count is number for an argument that is a whole number of 0 or more.
func (r *argReader) count(name string, def int) int {
	x := r.number(name, float64(def))
	if x < 0 || x != math.Trunc(x) || x > math.MaxInt32 {
		r.wrong(name, x, "a whole number of 0 or more")
		return def
	}
	return int(x)
}

// aggregation reads an aggregation mode, "" when it is not given.
func (r *argReader) aggregation(name string) Aggregation {
	v, given := r.get(name)
	if !given {
		return ""
	}
	a, err := ParseAggregation(fmt.Sprint(v))
	if err != nil {
		r.wrong(name, v, "an aggregation mode such as token-mean")
	}
	return a
}

// require records a complaint about a value unless ok.
func (r *argReader) require(ok bool, name string, v any, want string) {
	if !ok {
		r.wrong(name, v, want)
	}
}

// close returns every complaint, unknown arguments included, or nil.
func (r *argReader) close() error {
	for _, name := range slices.Sorted(maps.Keys(r.args)) {
		if !slices.Contains(r.known, name) {
			r.errs = append(r.errs, spell.UnknownArgument(name, r.known))
		}
	}
	return errors.Join(r.errs...)
}
