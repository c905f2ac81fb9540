package expression

import (
	"errors"
	"math"
	"math/big"
	"math/cmplx"
)

var errValue = errors.New("reward: no numeric value")

// value is a number: exact if rat is there, else approx.
type value struct {
	rat     *big.Rat
	approx  complex128
	decimal bool // a number written with a point went into it
}

func (v value) complex() complex128 {
	if v.rat == nil {
		return v.approx
	}
	f, _ := v.rat.Float64()
	return complex(f, 0)
}

// equal is exact for rationals; otherwise it allows for the rounding of floating point.
func (v value) equal(w value) bool {
	if v.rat != nil && w.rat != nil {
		return v.rat.Cmp(w.rat) == 0
	}
	a, b := v.complex(), w.complex()
	return cmplx.Abs(a-b) <= 1e-12*math.Max(1e-3, math.Max(cmplx.Abs(a), cmplx.Abs(b)))
}

// compare orders by real part.
func (v value) compare(w value) int {
	if v.rat != nil && w.rat != nil {
		return v.rat.Cmp(w.rat)
	}
	switch a, b := real(v.complex()), real(w.complex()); {
	case v.equal(w):
		return 0
	case a < b:
		return -1
	default:
		return 1
	}
}

// evaluate computes n with its variables set to the values in env.
func evaluate(n *Node, env map[string]*big.Rat) (value, error) {
	return (&evaluation{env: env}).of(n)
}

// evaluation is an expression being computed.
type evaluation struct {
	env   map[string]*big.Rat
	work  int // on long numbers
	depth int // of sums in sums
}

// maxNested bounds sums in sums.
const maxNested = 3

// maxWork bounds the work on long numbers of one evaluation, in products of 64 by 64 bits. Beyond it values are
// approximate, or there is none: so an answer of a thousand factorials costs milliseconds.
const maxWork = 1 << 20

// charge counts work and reports whether it may be done.
func (e *evaluation) charge(work int) bool {
	e.work += work
	return e.work <= maxWork
}

func words(r *big.Rat) int { return bits(r)/64 + 1 }

func (e *evaluation) of(n *Node) (value, error) {
	if n.isSeries() {
		return e.series(n)
	}
	args := make([]value, len(n.args))
	decimal := n.decimal
	for i, a := range n.args {
		v, err := e.of(a)
		if err != nil {
			return v, err
		}
		args[i] = v
		decimal = decimal || v.decimal
	}
	v, err := e.apply(n, args)
	if err == nil && v.rat == nil && (cmplx.IsNaN(v.approx) || cmplx.IsInf(v.approx)) {
		err = errValue
	}
	v.decimal = decimal
	return v, err
}

func (e *evaluation) apply(n *Node, args []value) (value, error) {
	switch n.kind {
	case numNode:
		return value{rat: n.num}, nil
	case symNode:
		if r, ok := e.env[n.variable()]; ok {
			return value{rat: r}, nil
		}
	case constNode:
		return constantValue(n.name)
	case addNode:
		return e.fold(args, (*big.Rat).Add, plus), nil
	case mulNode:
		return e.fold(args, (*big.Rat).Mul, times), nil
	case percentNode:
		return e.fold([]value{args[0], {rat: big.NewRat(1, 100)}}, (*big.Rat).Mul, times), nil
	case powNode:
		return e.raise(args[0], args[1])
	case callNode:
		return e.callValue(n.name, args)
	}
	return value{}, errValue
}

func constantValue(name string) (value, error) {
	known := map[string]complex128{"pi": math.Pi, "e": math.E, "I": 1i, "EulerGamma": 0.57721566490153286}
	v, ok := known[name]
	if !ok {
		return value{}, errValue
	}
	return value{approx: v}, nil
}

// maxBits bounds exact arithmetic; beyond it values are approximate.
const maxBits = 1 << 15

func (e *evaluation) fold(args []value, exact func(z, x, y *big.Rat) *big.Rat,
	approx func(a, b complex128) complex128) value {
	out := args[0]
	for _, v := range args[1:] {
		if out.rat != nil && v.rat != nil && bits(out.rat)+bits(v.rat) < maxBits &&
			e.charge(words(out.rat)*words(v.rat)) {
			out = value{rat: exact(new(big.Rat), out.rat, v.rat)}
		} else {
			out = value{approx: approx(out.complex(), v.complex())}
		}
	}
	return out
}

func bits(r *big.Rat) int { return r.Num().BitLen() + r.Denom().BitLen() }

// raise keeps rationals rational where it can: whole powers, and roots that come out even.
func (e *evaluation) raise(base, exp value) (value, error) {
	if base.rat != nil && base.rat.Sign() == 0 && (exp.rat == nil || exp.rat.Sign() < 0) {
		return value{}, errValue
	}
	if base.rat != nil && exp.rat != nil && exp.rat.Denom().IsInt64() && exp.rat.Num().IsInt64() {
		var root *big.Rat
		if exp.rat.IsInt() || e.charge(words(base.rat)*words(base.rat)*64) { // a root takes a step for each bit
			root = exactRoot(base.rat, exp.rat.Denom().Int64())
		}
		if root != nil {
			if p := e.wholePower(root, exp.rat.Num().Int64()); p != nil {
				return value{rat: p}, nil
			}
		}
	}
	return value{approx: cmplx.Pow(base.complex(), exp.complex())}, nil
}

// wholePower is base to a whole power, nil where that would be too long. Its work is counted by its length.
func (e *evaluation) wholePower(base *big.Rat, power int64) *big.Rat {
	if power <= -maxBits || power >= maxBits || bits(base)*int(max(power, -power)) >= maxBits {
		return nil
	}
	if length := bits(base)*int(max(power, -power))/64 + 1; !e.charge(length * length) {
		return nil
	}
	n := big.NewInt(max(power, -power))
	num, den := new(big.Int).Exp(base.Num(), n, nil), new(big.Int).Exp(base.Denom(), n, nil)
	if power < 0 {
		num, den = den, num
	}
	return new(big.Rat).SetFrac(num, den)
}

// exactRoot is the k-th root of r if it is rational and real, else nil.
func exactRoot(r *big.Rat, k int64) *big.Rat {
	if k == 1 {
		return r
	}
	if r.Sign() < 0 || k > 64 {
		return nil
	}
	num, den := intRoot(r.Num(), k), intRoot(r.Denom(), k)
	if num == nil || den == nil {
		return nil
	}
	return new(big.Rat).SetFrac(num, den)
}

// intRoot is the exact k-th root of n ≥ 0 or nil, by bisection.
func intRoot(n *big.Int, k int64) *big.Int {
	if n.BitLen() > 4096 {
		return nil
	}
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(n.BitLen()/int(k)+1))
	for low.Cmp(high) <= 0 {
		mid := new(big.Int).Rsh(new(big.Int).Add(low, high), 1)
		switch new(big.Int).Exp(mid, big.NewInt(k), nil).Cmp(n) {
		case 0:
			return mid
		case -1:
			low = mid.Add(mid, big.NewInt(1))
		default:
			high = mid.Sub(mid, big.NewInt(1))
		}
	}
	return nil
}

// times is a*b with every product rounded separately: Go may fuse a*b, and then it differs between machines.
func times(a, b complex128) complex128 {
	return complex(
		float64(real(a)*real(b))-float64(imag(a)*imag(b)),
		float64(real(a)*imag(b))+float64(imag(a)*real(b)),
	)
}
