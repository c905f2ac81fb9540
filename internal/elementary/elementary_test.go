package elementary

import (
	"math"
	"testing"
)

func TestExp(t *testing.T) {
	for x := -745.0; x < 709.7; x += 0.37 {
		if got, want := Exp(x), math.Exp(x); math.Abs(got-want) > 4e-16*want+5e-324 {
			t.Fatalf("Exp(%v) = %v, want %v", x, got, want)
		}
	}
	if Exp(0) != 1 || Exp(1000) != math.Inf(1) || Exp(-1000) != 0 || !math.IsNaN(Exp(math.NaN())) {
		t.Error("Exp at its edges:", Exp(0), Exp(1000), Exp(-1000), Exp(math.NaN()))
	}
}

// Each function equals that of package math within some units in the last place, from tiny to large arguments.
func TestFunctionsAreThoseOfMath(t *testing.T) {
	identity := func(x float64) float64 { return x }
	for _, tt := range []struct {
		name      string
		got, want func(float64) float64
		from      func(float64) float64 // of positive numbers from 1e-18 to 1e18
		low, high float64
		relative  float64
	}{
		{"Log", Log, math.Log, identity, 0, math.MaxFloat64, 1e-15},
		{"Log1p", Log1p, math.Log1p, identity, 0, math.MaxFloat64, 2e-15},
		{"Log1p of negatives", Log1p, math.Log1p, func(x float64) float64 { return -x }, -0.9999, 0, 2e-15},
		{"Expm1", Expm1, math.Expm1, identity, 0, 700, 2e-15},
		{"Expm1 of negatives", Expm1, math.Expm1, func(x float64) float64 { return -x }, -700, 0, 2e-15},
		{"Erf", Erf, math.Erf, identity, 0, math.MaxFloat64, 1e-15},
		{"Erf of negatives", Erf, math.Erf, func(x float64) float64 { return -x }, -math.MaxFloat64, 0, 1e-15},
		{"Pow", func(x float64) float64 { return Pow(5e5, x) }, func(x float64) float64 { return math.Pow(5e5, x) },
			identity, 0, 1, 4e-15},
	} {
		for x := 1e-18; x < 1e18; x *= 1.0137 {
			v := tt.from(x)
			if v < tt.low || v > tt.high {
				continue
			}
			if got, want := tt.got(v), tt.want(v); math.Abs(got-want) > tt.relative*math.Abs(want) {
				t.Fatalf("%s: of %v is %v, want %v", tt.name, v, got, want)
			}
		}
	}
}

func TestSinCos(t *testing.T) {
	for x := 1e-9; x < trigRange; x *= 1.00137 {
		for _, v := range []float64{x, -x} {
			if math.Abs(Sin(v)-math.Sin(v)) > 2.3e-16 || math.Abs(Cos(v)-math.Cos(v)) > 2.3e-16 {
				t.Fatalf("of %v: %v, %v, want %v, %v", v, Sin(v), Cos(v), math.Sin(v), math.Cos(v))
			}
		}
	}
	if Sin(0) != 0 || Cos(0) != 1 || !math.IsNaN(Sin(trigRange)) || !math.IsNaN(Cos(math.Inf(1))) ||
		!math.IsNaN(Sin(math.NaN())) {
		t.Error("at the edges:", Sin(0), Cos(0), Sin(trigRange), Cos(math.Inf(1)), Sin(math.NaN()))
	}
}

func TestEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"Log 0", Log(0), -inf}, {"Log of a negative", Log(-1), nan}, {"Log inf", Log(inf), inf}, {"Log 1", Log(1), 0},
		{"Log of a subnormal", Log(5e-324), -744.4400719213812},
		{"Log1p -1", Log1p(-1), -inf}, {"Log1p inf", Log1p(inf), inf}, {"Log1p nan", Log1p(nan), nan},
		{"Log1p -2", Log1p(-2), nan},
		{"Expm1 inf", Expm1(inf), inf}, {"Expm1 -inf", Expm1(-inf), -1}, {"Expm1 0", Expm1(0), 0},
		{"Expm1 nan", Expm1(nan), nan},
		{"Erf inf", Erf(inf), 1}, {"Erf -7", Erf(-7), -1}, {"Erf 0", Erf(0), 0}, {"Erf nan", Erf(nan), nan},
	} {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}
