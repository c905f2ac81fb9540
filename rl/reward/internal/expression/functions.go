package expression

import (
	"math"
	"math/big"
	"math/cmplx"
)

// callValue computes the named functions of the parser; a function it does not know has no value.
func (e *evaluation) callValue(name string, args []value) (value, error) {
	switch name {
	case "factorial":
		return e.factorial(args[0])
	case "binomial":
		return e.binomial(args[0], args[1])
	case "abs":
		if args[0].rat != nil {
			return value{rat: new(big.Rat).Abs(args[0].rat)}, nil
		}
		return value{approx: complex(cmplx.Abs(args[0].approx), 0)}, nil
	case "floor", "ceiling":
		return rounded(name, args[0]), nil
	case "mod":
		return e.mod(args[0], args[1])
	case "log":
		return e.logarithm(args[0], args[1])
	case "gcd", "lcm":
		return e.divisor(name, args)
	case "max", "min":
		return extreme(name, args), nil
	}
	if f, ok := analytic()[name]; ok && len(args) == 1 {
		return value{approx: f(args[0].complex())}, nil
	}
	return value{}, errValue
}

func analytic() map[string]func(complex128) complex128 {
	inverse := func(f func(complex128) complex128) func(complex128) complex128 {
		return func(z complex128) complex128 { return 1 / f(z) }
	}
	return map[string]func(complex128) complex128{
		"sin": cmplx.Sin, "cos": cmplx.Cos, "tan": cmplx.Tan, "csc": inverse(cmplx.Sin), "sec": inverse(cmplx.Cos),
		"cot":  cmplx.Cot,
		"asin": cmplx.Asin, "acos": cmplx.Acos, "atan": cmplx.Atan, "sinh": cmplx.Sinh, "cosh": cmplx.Cosh,
		"tanh": cmplx.Tanh,
	}
}

// maxFactorial bounds exact factorials and binomials.
const maxFactorial = 3000

func (e *evaluation) factorial(v value) (value, error) {
	if v.rat == nil || !v.rat.IsInt() || v.rat.Sign() < 0 || v.rat.Cmp(big.NewRat(maxFactorial, 1)) > 0 {
		return value{}, errValue
	}
	if n := int(v.rat.Num().Int64()); !e.charge(10 * n) {
		return value{}, errValue
	}
	return value{rat: new(big.Rat).SetInt(new(big.Int).MulRange(1, v.rat.Num().Int64()))}, nil
}

func (e *evaluation) binomial(n, k value) (value, error) {
	limit := big.NewRat(maxFactorial, 1)
	for _, v := range []value{n, k} {
		if v.rat == nil || !v.rat.IsInt() || v.rat.Sign() < 0 || v.rat.Cmp(limit) > 0 {
			return value{}, errValue
		}
	}
	if k := int(k.rat.Num().Int64()); !e.charge(20 * k) {
		return value{}, errValue
	}
	return value{rat: new(big.Rat).SetInt(new(big.Int).Binomial(n.rat.Num().Int64(), k.rat.Num().Int64()))}, nil
}

func rounded(name string, v value) value {
	if v.rat == nil {
		if name == "floor" {
			return value{approx: complex(math.Floor(real(v.approx)), 0)}
		}
		return value{approx: complex(math.Ceil(real(v.approx)), 0)}
	}
	whole := new(big.Int).Div(v.rat.Num(), v.rat.Denom()) // Euclidean, and the denominator is positive: the floor
	if name == "ceiling" && !v.rat.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return value{rat: new(big.Rat).SetInt(whole)}
}

// chargePair counts the work of a division of long numbers, or of their common divisor.
func (e *evaluation) chargePair(x, y *big.Rat) bool {
	return bits(x)+bits(y) < maxBits && e.charge(words(x)*words(y))
}

func (e *evaluation) mod(a, b value) (value, error) {
	if a.rat == nil || b.rat == nil || b.rat.Sign() == 0 || !e.chargePair(a.rat, b.rat) {
		return value{}, errValue
	}
	q := rounded("floor", value{rat: new(big.Rat).Quo(a.rat, b.rat)})
	return value{rat: q.rat.Sub(a.rat, q.rat.Mul(q.rat, b.rat))}, nil
}

// logarithm is exact where it is whole and the power that shows it is not too long.
func (e *evaluation) logarithm(x, base value) (value, error) {
	if x.rat != nil && x.rat.Sign() == 0 || base.rat != nil && base.rat.Sign() == 0 {
		return value{}, errValue
	}
	out := cmplx.Log(x.complex()) / cmplx.Log(base.complex())
	if x.rat != nil && base.rat != nil && imag(out) == 0 && math.Abs(real(out)) < 4096 {
		whole := int64(math.Round(real(out)))
		if p := e.wholePower(base.rat, whole); p != nil && p.Cmp(x.rat) == 0 {
			return value{rat: new(big.Rat).SetInt64(whole)}, nil
		}
	}
	return value{approx: out}, nil
}

func (e *evaluation) divisor(name string, args []value) (value, error) {
	var out *big.Int
	for _, v := range args {
		if v.rat == nil || !v.rat.IsInt() || v.rat.Sign() <= 0 {
			return value{}, errValue
		}
		n := v.rat.Num()
		if out == nil {
			out = n
			continue
		}
		if !e.chargePair(new(big.Rat).SetInt(out), v.rat) {
			return value{}, errValue
		}
		g := new(big.Int).GCD(nil, nil, out, n)
		if name == "lcm" {
			g = new(big.Int).Mul(new(big.Int).Quo(out, g), n)
		}
		out = g
	}
	return value{rat: new(big.Rat).SetInt(out)}, nil
}

func extreme(name string, args []value) value {
	out := args[0]
	for _, v := range args[1:] {
		if order := v.compare(out); order > 0 && name == "max" || order < 0 && name == "min" {
			out = v
		}
	}
	return out
}
