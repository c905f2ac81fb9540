package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func filterInt(_ *run, a args) (Value, error) {
	v, err := a.bind("int", "value", "default", "base")
	if err != nil {
		return nil, err
	}
	def := or(v[1], int64(0))
	switch x := v[0].(type) {
	case bool:
		return hash(x), nil
	case int64:
		return x, nil
	case float64:
		if math.Abs(x) < 1<<63 {
			return int64(x), nil
		}
	case string:
		base, err := integer(or(v[2], int64(10)))
		if err != nil || base != 0 && (base < 2 || base > 36) {
			return nil, fmt.Errorf("int: no such base")
		}
		s := strings.TrimFunc(x, pySpace)
		if i, err := strconv.ParseInt(s, base, 64); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<63 {
			return int64(f), nil
		}
	}
	return def, nil
}

func filterFloat(_ *run, a args) (Value, error) {
	v, err := a.bind("float", "value", "default")
	if err != nil {
		return nil, err
	}
	if n, ok := number(v[0]); ok {
		return toFloat(n), nil
	}
	if s, ok := v[0].(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimFunc(s, pySpace), 64); err == nil {
			return f, nil
		}
	}
	return or(v[1], 0.0), nil
}

func filterAbs(r *run, a args) (Value, error) {
	v, err := a.bind("abs", "value")
	if err != nil {
		return nil, err
	}
	n, ok := number(v[0])
	switch {
	case !ok:
		return nil, fmt.Errorf("abs of %s", typeName(v[0]))
	case toFloat(n) >= 0:
		return n, nil
	}
	return r.arith("*", n, int64(-1))
}

// filterRound rounds to even halves as Python does, or up or down.
func filterRound(_ *run, a args) (Value, error) {
	v, err := a.bind("round", "value", "precision", "method")
	if err != nil {
		return nil, err
	}
	n, ok := number(v[0])
	precision, err := integer(or(v[1], int64(0)))
	if !ok || err != nil || precision < -300 || precision > 300 {
		return nil, fmt.Errorf("round needs a number and a small precision")
	}
	x, scale := toFloat(n), math.Pow(10, float64(precision))
	switch or(v[2], "common") {
	case "ceil":
		return math.Ceil(x*scale) / scale, nil
	case "floor":
		return math.Floor(x*scale) / scale, nil
	}
	if _, isInt := n.(int64); isInt && precision >= 0 {
		return n, nil
	}
	if precision < 0 {
		return math.RoundToEven(x*scale) / scale, nil
	}
	return strconv.ParseFloat(strconv.FormatFloat(x, 'f', precision, 64), 64)
}
