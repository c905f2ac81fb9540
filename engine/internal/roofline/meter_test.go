package roofline

import (
	"math"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// TestSample: every path of this processor has a roof, and vectors that can multiply bf16 in two ways have at least
// the float32 peak.
func TestSample(t *testing.T) {
	p := kernel.NewPool(2)
	defer p.Close()
	for path := kernel.Portable; path <= kernel.Detect(); path++ {
		o := kernel.Sequential
		if path == kernel.AMX {
			o = kernel.Blocked
		}
		s, err := kernel.New(path, o)
		if err != nil {
			t.Fatal(err)
		}
		g, err := newMeter(s, p, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		r := g.Sample()
		if r.Bandwidth <= 0 || math.IsInf(r.Bandwidth, 0) {
			t.Errorf("%v reads %v GB/s", path, r.Bandwidth)
		}
		if known := path > kernel.Portable; (r.FMA > 0) != known || (r.BF16 > 0) != known {
			t.Errorf("%v: %+v", path, r)
		}
	}
}

// TestTime: a round has the work's seconds and the mean roof of two samples. The first sample is the second one of the
// previous round, unless that is old.
func TestTime(t *testing.T) {
	p := kernel.NewPool(1)
	defer p.Close()
	portable, err := kernel.New(kernel.Portable, kernel.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newMeter(portable, p, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	var rounds []Round
	for _, old := range []bool{true, false, true} {
		kept := g.last
		if g.at = time.Now().Add(time.Hour); old {
			g.at = time.Time{}
		}
		var before Roof
		var ends []time.Time
		var begin time.Time
		start := time.Now()
		r := g.Time(func() {
			if before = g.last; len(ends) == 0 {
				begin = time.Now()
			}
			for begun := time.Now(); time.Since(begun) < 90*time.Millisecond; { // work that takes as long
			}
			ends = append(ends, time.Now())
		})
		calls := len(ends)
		if want := before.mean(g.last); r.Roof != want {
			t.Errorf("%+v, want the roof %+v", r, want)
		}
		if all := time.Since(start).Seconds(); r.Seconds < 0.09 || r.Seconds*float64(calls) > all {
			t.Errorf("%d calls of %v seconds in %v", calls, r.Seconds, all)
		}
		if calls > 1 && ends[calls-2].Sub(begin) >= roundTime {
			t.Errorf("a call after %v", ends[calls-2].Sub(begin))
		}
		if (before != kept) != old {
			t.Errorf("a sample that is old (%v): %+v, then %+v", old, kept, before)
		}
		rounds = append(rounds, r)
	}
	seconds := func(r Round) float64 { return r.Seconds }
	if got, want := Median(rounds[:2], seconds), (rounds[0].Seconds+rounds[1].Seconds)/2; got != want {
		t.Errorf("the median of two is %v, want %v", got, want)
	}
	if got := Median(rounds[:1], seconds); got != rounds[0].Seconds {
		t.Errorf("the median of one is %v", got)
	}
}

func TestRoofline(t *testing.T) {
	for _, x := range []struct{ bf16, operations, bytes, want float64 }{
		{100, 4e11, 1e10, 4}, // bound by arithmetic
		{100, 4e11, 6e10, 6}, // by memory
		{0, 4e11, 1e10, 1},   // the peak is unknown
	} {
		if got := (Roof{BF16: x.bf16, Bandwidth: 10}).Seconds(x.operations, x.bytes); got != x.want {
			t.Errorf("%+v takes %v seconds", x, got)
		}
	}
}
