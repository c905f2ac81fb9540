package taskprep

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// bounds are the limits of a measure: Data-Juicer's arguments of every filter.
type bounds struct {
	low, high         float64
	openLow, openHigh bool
	outside           bool // what lies outside is kept instead, and a closed end belongs to that
}

// boundsOf reads bounds.
func boundsOf(a *arg.Reader, lowName string, low float64, highName string, high float64) bounds {
	return bounds{a.Float(lowName, low), a.Float(highName, high), !a.Bool("min_closed_interval", true),
		!a.Bool("max_closed_interval", true), a.Bool("reversed_range", false)}
}

func (b bounds) keep(v float64) bool {
	in := v >= b.low && v <= b.high && !(b.openLow != b.outside && v == b.low) &&
		!(b.openHigh != b.outside && v == b.high)
	return in != b.outside
}

// textOf is a column's text; a column that is not there is an error, a row whose text is null has none.
func textOf(r dataset.Row, key string) (string, error) {
	v, ok := r.Get(key)
	if !ok {
		return "", fmt.Errorf("no column %q; the columns are %s; set target_fields or text_key", key,
			strings.Join(r.Columns(), ", "))
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
			return nil, fmt.Errorf("no field %q in a row with columns %s", path, strings.Join(r.Columns(), ", "))
		}
	}
	return at, nil
}

// number is a field's number, and whether it is one.
func number(r dataset.Row, path string) (float64, bool) {
	v, err := field(r, path)
	if err != nil {
		return 0, false
	}
	return arg.Float(v)
}
