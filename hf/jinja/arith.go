package jinja

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// arith is a op b for the operators of Python.
func (r *run) arith(op string, a, b Value) (Value, error) {
	for _, v := range []Value{a, b} {
		if u, ok := v.(undefined); ok {
			return nil, u.err()
		}
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	if ok1 && ok2 {
		i, ok1 := x.(int64)
		j, ok2 := y.(int64)
		if ok1 && ok2 {
			return intArith(op, i, j)
		}
		return floatArith(op, toFloat(x), toFloat(y))
	}
	switch {
	case op == "+":
		if v, err := r.join(a, b); v != nil || err != nil {
			return v, err
		}
	case op == "*" && ok2:
		return r.repeat(a, y)
	case op == "*" && ok1:
		return r.repeat(b, x)
	case op == "%":
		if format, ok := a.(string); ok {
			return r.percent(format, b)
		}
	}
	return nil, fmt.Errorf("unsupported operand types for %s: %s and %s", op, typeName(a), typeName(b))
}

// join is + of two strings, lists or tuples, nil for anything else.
func (r *run) join(a, b Value) (Value, error) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			if err := r.joined(len(a)+len(b), 1); err != nil {
				return nil, err
			}
			return a + b, nil
		}
	case List:
		if b, ok := b.(List); ok {
			if err := r.joined(len(a)+len(b), slotBytes); err != nil {
				return nil, err
			}
			return slices.Concat(a, b), nil
		}
	case Tuple:
		if b, ok := b.(Tuple); ok {
			if err := r.joined(len(a)+len(b), slotBytes); err != nil {
				return nil, err
			}
			return slices.Concat(a, b), nil
		}
	}
	return nil, nil
}

// joined charges a sequence put together of n elements of size bytes each.
func (r *run) joined(n, size int) error {
	if err := r.fits(n); err != nil {
		return err
	}
	return r.spend("+", textSteps(n*size), n*size)
}

// repeat is a sequence times a count.
func (r *run) repeat(v, count Value) (Value, error) {
	n, err := integer(count)
	if err != nil {
		return nil, err
	}
	size, err := length(v)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok {
		size = len(s)
	}
	n = max(n, 0)
	if hi, total := bits.Mul64(uint64(size), uint64(n)); hi != 0 || total > uint64(r.opts.MaxOutput) {
		return nil, r.fits(-1)
	}
	if _, ok := v.(string); !ok {
		size *= slotBytes
	}
	if err := r.spend("*", textSteps(size*n), size*n); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return strings.Repeat(v, n), nil
	case List:
		return slices.Repeat(v, n), nil
	case Tuple:
		return slices.Repeat(v, n), nil
	}
	return nil, fmt.Errorf("%s cannot be repeated", typeName(v))
}

func intArith(op string, a, b int64) (Value, error) {
	switch op {
	case "+", "-", "*":
		return exact(op, a, b)
	case "**":
		return power(a, b)
	}
	if b == 0 {
		return nil, fmt.Errorf("division by zero")
	}
	switch op {
	case "/":
		return float64(a) / float64(b), nil
	case "//":
		if b == -1 {
			return exact("-", 0, a)
		}
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return q, nil
	}
	if b == -1 {
		return int64(0), nil
	}
	m := a % b
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m, nil
}

// exact is integer arithmetic that refuses to overflow.
func exact(op string, a, b int64) (Value, error) {
	var c int64
	ok := true
	switch op {
	case "+":
		c = a + b
		ok = (c > a) == (b > 0)
	case "-":
		c = a - b
		ok = (c < a) == (b > 0)
	case "*":
		c = a * b
		ok = a == 0 || c/a == b && !(a == -1 && b == math.MinInt64)
	}
	if !ok {
		return nil, fmt.Errorf("%d %s %d does not fit 64 bits", a, op, b)
	}
	return c, nil
}

func power(a, b int64) (Value, error) {
	if b < 0 {
		return floatArith("**", float64(a), float64(b))
	}
	if b > 64 && (a > 1 || a < -1) {
		return nil, fmt.Errorf("%d ** %d does not fit 64 bits", a, b)
	}
	if b > 64 { // 0, 1, -1: only odd or even matters
		b = 2 + b%2
	}
	c := Value(int64(1))
	for range b {
		var err error
		if c, err = exact("*", c.(int64), a); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func floatArith(op string, a, b float64) (Value, error) {
	if b == 0 && (op == "/" || op == "//" || op == "%") || a == 0 && b < 0 && op == "**" {
		return nil, fmt.Errorf("division by zero")
	}
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "/":
		return a / b, nil
	case "//":
		return math.Floor(a / b), nil
	case "%":
		m := math.Mod(a, b)
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m, nil
	}
	return math.Pow(a, b), nil
}
