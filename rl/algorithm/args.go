package algorithm

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
)

// Args are the arguments of one function as they come from YAML: numbers, booleans, text or nil. A nil value means that
// the argument is not given.
type Args map[string]any

// floatOrNil reads a number whose default is none.
func floatOrNil(r *arg.Reader, name string) *float64 {
	if !r.Given(name) {
		return nil
	}
	x := r.Float(name, 0)
	return &x
}

// aggregationOf reads an aggregation mode, "" when it is not given.
func aggregationOf(r *arg.Reader, name string) Aggregation {
	v, given := r.Any(name)
	if !given {
		return ""
	}
	a, err := ParseAggregation(fmt.Sprint(v))
	r.Require(err == nil, name, v, "an aggregation mode such as token-mean")
	return a
}
