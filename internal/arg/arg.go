// Package arg reads the arguments that a configuration gives to a named part: an advantage function, an operator, a
// workflow, a reward, a selector. Every part reads them by the same rules and reports the same errors.
package arg

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
)

// Error is the error of one argument. A caller that has the text of the configuration can use the name to find the
// line.
type Error struct {
	Name, Text string
	Unknown    bool // the part has no argument of that name
}

// Error implements error: the name and the text.
func (e *Error) Error() string { return e.Name + " " + e.Text }

// Reader reads the arguments of one part. It records the names that are read, so that Close can name the unknown ones.
// An argument whose value is nil counts as not given.
type Reader struct {
	values map[string]any
	known  []string
	errs   []error
}

// Read returns a reader of values, which it does not change.
func Read(values map[string]any) *Reader { return &Reader{values: values} }

// Any returns an argument unconverted, and whether it is given.
func (r *Reader) Any(name string) (value any, given bool) {
	if !slices.Contains(r.known, name) {
		r.known = append(r.known, name)
	}
	value = r.values[name]
	return value, value != nil
}

// Given reports whether an argument is given.
func (r *Reader) Given(name string) bool {
	_, given := r.Any(name)
	return given
}

// Float returns a number, or def when it is not given.
func (r *Reader) Float(name string, def float64) float64 {
	v, given := r.Any(name)
	if !given {
		return def
	}
	x, ok := Float(v)
	if !ok {
		r.Wrong(name, v, "a number")
		return def
	}
	return x
}

// Int returns a whole number of least or more, or def when it is not given.
func (r *Reader) Int(name string, def, least int) int {
	v, given := r.Any(name)
	if !given {
		return def
	}
	x, ok := Float(v)
	if !ok || x < float64(least) || x != math.Trunc(x) || x > math.MaxInt32 {
		r.Wrong(name, v, fmt.Sprintf("a whole number, %d or more", least))
		return def
	}
	return int(x)
}

// Bool returns true or false, or def when it is not given.
func (r *Reader) Bool(name string, def bool) bool {
	v, given := r.Any(name)
	if !given {
		return def
	}
	b, ok := v.(bool)
	r.Require(ok, name, v, "true or false")
	return b
}

// Text returns a text, or def when it is not given.
func (r *Reader) Text(name, def string) string {
	v, given := r.Any(name)
	if !given {
		return def
	}
	s, ok := v.(string)
	r.Require(ok, name, v, "text")
	return s
}

// Texts returns a list of texts, or def when it is not given.
func (r *Reader) Texts(name string, def ...string) []string {
	v, given := r.Any(name)
	if !given {
		return def
	}
	list, ok := v.([]any)
	out := make([]string, len(list))
	for i, item := range list {
		text, isText := item.(string)
		out[i], ok = text, ok && isText
	}
	r.Require(ok, name, v, "a list of texts")
	return out
}

// Word returns one of the allowed words; the first is the default.
func (r *Reader) Word(name string, allowed ...string) string {
	v, given := r.Any(name)
	if !given {
		return allowed[0]
	}
	s, ok := v.(string)
	r.Require(ok && slices.Contains(allowed, s), name, v, "one of "+strings.Join(allowed, ", "))
	return s
}

// Require records an error that value must be want, unless ok.
func (r *Reader) Require(ok bool, name string, value any, want string) {
	if !ok {
		r.Wrong(name, value, want)
	}
}

// Wrong records an error that an argument's value must be want.
func (r *Reader) Wrong(name string, value any, want string) {
	if s, isText := value.(string); isText {
		value = strconv.Quote(s)
	}
	r.errs = append(r.errs, &Error{Name: name, Text: fmt.Sprintf("is %v; it must be %s", value, want)})
}

// Fail records an error about several arguments.
func (r *Reader) Fail(err error) { r.errs = append(r.errs, err) }

// Err returns the errors so far, each an [*Error], joined, or nil.
func (r *Reader) Err() error {
	if len(r.errs) == 1 {
		return r.errs[0]
	}
	return errors.Join(r.errs...)
}

// Close is Err with an error for each argument that was not read, which names the nearest argument of the part.
func (r *Reader) Close() error {
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if !slices.Contains(r.known, name) {
			r.errs = append(r.errs, unknown(name, r.known))
		}
	}
	return r.Err()
}

func unknown(name string, known []string) *Error {
	text := "is not an argument" + spell.DidYouMean(name, known)
	if len(known) == 0 {
		text += "; there are none"
	} else {
		text += "; there are " + strings.Join(known, ", ")
	}
	return &Error{Name: name, Text: text, Unknown: true}
}

// Float reads a number of any type that a YAML or JSON decoder returns. A text that is a number is accepted, because
// YAML 1.2 decodes 1e-6 as text. NaN is not a number.
func Float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, !math.IsNaN(v)
	case float32:
		return float64(v), v == v
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case string:
		x, err := strconv.ParseFloat(v, 64)
		return x, err == nil && !math.IsNaN(x)
	case interface{ Float64() (float64, error) }: // json.Number
		x, err := v.Float64()
		return x, err == nil
	}
	return 0, false
}
