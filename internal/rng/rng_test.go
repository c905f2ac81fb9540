package rng

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The known answers of Random123 for philox4x32-10.
func TestPhilox(t *testing.T) {
	f := ^uint32(0)
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want string
	}{
		{[4]uint32{}, [2]uint32{}, "[6627e8d5 e169c58d bc57ac4c 9b00dbd8]"},
		{[4]uint32{f, f, f, f}, [2]uint32{f, f}, "[408f276d 41c83b0e a20bc7c6 6d5451fd]"},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			"[d16cfe09 94fdcceb 5001e420 24126ea1]"},
	} {
		if got := fmt.Sprintf("%08x", philox(c.ctr, c.key)); got != c.want {
			t.Errorf("philox(%x, %x) = %s, want %s", c.ctr, c.key, got, c.want)
		}
	}
}

// Streams must never change: runs are repeated from their seed.
func TestGolden(t *testing.T) {
	s := New(42).Stream("sample", 3, -1)
	u := []uint64{s.Uint64(), s.Uint64(), s.Uint64()}
	got := fmt.Sprintf("%016x %v %v %v %v %v", u, s.Float64(), s.Float32(), s.Normal(), s.IntN(1000), s.Perm(8))
	const want = "[c29a25d6ee8cec02 a71c077161ec6c46 acabbb49b6d1b15a] 0.7435400433378552 0.55549634 " +
		"0.6337394681791331 122 [6 5 2 3 4 7 0 1]"
	if got != want {
		t.Errorf("stream (42, sample, 3, -1)\n got %s\nwant %s", got, want)
	}
}

func TestDrawIsAFunctionOfNameAndIndex(t *testing.T) {
	s := New(7).Stream("a", 1)
	fresh := s
	for k := range uint64(100) {
		if got, want := s.Uint64(), fresh.At(k); got != want {
			t.Fatalf("draw %d = %x, At says %x", k, got, want)
		}
	}
	var _ rand.Source = &s
}

func TestNamesDiffer(t *testing.T) {
	seen := map[uint64]string{}
	for _, seed := range []uint64{0, 1, 1 << 63} {
		for _, name := range []string{"", "a", "b", "ab"} {
			for _, ids := range [][]int{nil, {0}, {1}, {0, 0}, {0, 1}, {1, 0}, {-1}} {
				what, v := fmt.Sprint(seed, name, ids), New(seed).Stream(name, ids...).At(0)
				if other, dup := seen[v]; dup {
					t.Errorf("streams %s and %s begin alike", what, other)
				}
				seen[v] = what
			}
		}
	}
}

// Values of Python's statistics.NormalDist().inv_cdf.
func TestQuantile(t *testing.T) {
	for _, c := range []struct{ p, want float64 }{
		{0.5, 0}, {0.975, 1.9599639845400536}, {0.1, -1.2815515655446008}, {0.925, 1.439531470938456},
		{1e-10, -6.361340902404056}, {1e-15, -7.941345326170998}, {0.999, 3.090232306167813},
	} {
		if got := quantile(c.p); math.Abs(got-c.want) > 1e-14*(1+math.Abs(c.want)) {
			t.Errorf("quantile(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

func TestDistributions(t *testing.T) {
	const n = 200_000
	s := New(1).Stream("moments")
	var sum, sq, u, below float64
	counts := make([]int, 7)
	for range n {
		x := s.Normal()
		sum, sq = sum+x, sq+x*x
		u += s.Float64()
		if f := s.Float32(); f < 0 || f >= 1 {
			t.Fatalf("Float32 = %v", f)
		} else if f < 0.25 {
			below++
		}
		counts[s.IntN(7)]++
	}
	for _, c := range []struct {
		what      string
		got, want float64
		sd        float64
	}{
		{"mean of normals", sum / n, 0, 1}, {"square of normals", sq / n, 1, math.Sqrt2},
		{"mean of Float64", u / n, 0.5, math.Sqrt(1. / 12)}, {"Float32 below 1/4", below / n, 0.25, 0.433},
	} {
		if math.Abs(c.got-c.want) > 4*c.sd/math.Sqrt(n) {
			t.Errorf("%s = %v, want %v", c.what, c.got, c.want)
		}
	}
	for i, c := range counts {
		if math.Abs(float64(c)-n/7.) > 4*math.Sqrt(n/7.) {
			t.Errorf("IntN(7) gave %d %d times of %d", i, c, n)
		}
	}
}

func TestPerm(t *testing.T) {
	s := New(1).Stream("perm")
	first := map[string]int{}
	for range 6000 {
		p := s.Perm(3)
		first[fmt.Sprint(p)]++
		if slices.Sort(p); !slices.Equal(p, []int{0, 1, 2}) {
			t.Fatalf("not a permutation: %v", p)
		}
	}
	for p, n := range first {
		if n < 850 || n > 1150 {
			t.Errorf("order %s came %d times of 6000", p, n)
		}
	}
	if len(first) != 6 || s.Perm(0) == nil || s.IntN(0) != 0 || s.IntN(1) != 0 {
		t.Errorf("%d orders of 3; Perm(0) = %v", len(first), s.Perm(0))
	}
}

func ExampleSeed_Stream() {
	s := New(7).Stream("sample", 3)
	again := New(7).Stream("sample", 3)
	s.Uint64()
	fmt.Println(s.Uint64() == again.At(1))
	// Output: true
}
