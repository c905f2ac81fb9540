package moment_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
)

// Equal numbers have themselves as mean and a deviation of exactly 0, whatever their size and number.
func TestEqualNumbers(t *testing.T) {
	for _, v := range []float64{-0.1, 0.1, 0.7, 1e-300, 1.0 / 3, 1e15 + 0.3, -math.MaxFloat64, math.MaxFloat64} {
		for _, n := range []int{1, 2, 3, 6, 7, 8, 10, 49, 1000, 100_003} {
			x := slices.Repeat([]float64{v}, n)
			if m := moment.Mean(x); m != v || moment.Deviation(x, m, n) != 0 || moment.Deviation(x, m, n-1) != 0 {
				t.Errorf("%d × %v: mean %v, deviation %v", n, v, m, moment.Deviation(x, m, n))
			}
		}
	}
}

// Numbers that differ are summed in their order: what runs reported before stays as it was.
func TestUnequalNumbers(t *testing.T) {
	x := []float64{0.1, 0.2, 0.3, 0.4, 0.7}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	if got := moment.Mean(x); got != sum/5 {
		t.Errorf("mean %v, want %v", got, sum/5)
	}
	if moment.Mean(nil) != 0 || moment.Deviation(nil, 0, 0) != 0 || !moment.Equal(nil) || moment.Equal(x) {
		t.Error("nothing has mean 0 and deviation 0")
	}
}

func ExampleMean() {
	x := []float64{0.1, 0.1, 0.1}
	fmt.Println(moment.Mean(x), moment.Deviation(x, moment.Mean(x), 3))
	// Output: 0.1 0
}
