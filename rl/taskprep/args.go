package taskprep

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// arguments reads an operator's arguments strictly; the first error stays.
type arguments struct {
	args map[string]any
	used []string
	err  error
}

func (a *arguments) get(name string) (any, bool) {
	a.used = append(a.used, name)
	v, ok := a.args[name]
	return v, ok && v != nil
}

func (a *arguments) fail(name string, v any, want string) {
	if a.err == nil {
		a.err = &spell.Argument{Name: name, Text: fmt.Sprintf("is %v; it must be %s", v, want)}
	}
}

func (a *arguments) number(name string, def float64) float64 {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	if err != nil {
		a.fail(name, v, "a number")
	}
	return n
}

func (a *arguments) text(name, def string) string {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	s, ok := v.(string)
	if !ok {
		a.fail(name, v, "a text")
	}
	return s
}

func (a *arguments) truth(name string, def bool) bool {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		a.fail(name, v, "true or false")
	}
	return b
}

func (a *arguments) texts(name string, def ...string) []string {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	list, ok := v.([]any)
	if !ok {
		a.fail(name, v, "a list of texts")
	}
	out := make([]string, len(list))
	for i, item := range list {
		if out[i], ok = item.(string); !ok {
			a.fail(name, v, "a list of texts")
		}
	}
	return out
}

// done returns the first error; an argument that nothing asked for is one.
func (a *arguments) done() error {
	for _, key := range slices.Sorted(maps.Keys(a.args)) {
		if !slices.Contains(a.used, key) && a.err == nil {
			a.err = spell.UnknownArgument(key, slices.Sorted(slices.Values(a.used)))
		}
	}
	return a.err
}

// bounds are what a measure must lie between: Data-Juicer's arguments of every filter.
type bounds struct {
	low, high         float64
	openLow, openHigh bool
	outside           bool // what lies outside is kept instead, and a closed end belongs to that
}

func (a *arguments) bounds(lowName string, low float64, highName string, high float64) bounds {
	return bounds{a.number(lowName, low), a.number(highName, high), !a.truth("min_closed_interval", true), !a.truth("max_closed_interval", true), a.truth("reversed_range", false)}
}

func (b bounds) keep(v float64) bool {
	in := v >= b.low && v <= b.high && !(b.openLow != b.outside && v == b.low) && !(b.openHigh != b.outside && v == b.high)
	return in != b.outside
}

// textOf is a column's text; a column that is not there is an error, a row whose text is null has none.
func textOf(r dataset.Row, key string) (string, error) {
	v, ok := r.Get(key)
	if !ok {
		return "", fmt.Errorf("recipe: no column %q; the columns are %s; set target_fields or text_key", key, strings.Join(r.Columns(), ", "))
	}
	if s, isText := v.(string); isText || v == nil {
		return s, nil
	}
	raw, err := json.Marshal(v)
	return string(raw), err
}

// field is the value at a path of keys with dots between.
func field(r dataset.Row, path string) (any, error) {
	var at any = r
	for key := range strings.SplitSeq(path, ".") {
		row, ok := at.(dataset.Row)
		if ok {
			at, ok = row.Get(key)
		}
		if !ok {
			return nil, fmt.Errorf("recipe: no field %q in a row with columns %s", path, strings.Join(r.Columns(), ", "))
		}
	}
	return at, nil
}

// number is a field's number, and whether it is one.
func number(r dataset.Row, path string) (float64, bool) {
	v, err := field(r, path)
	if err != nil || v == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return n, err == nil && !math.IsNaN(n)
}
