package model

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// roof is the measured peak rates of a machine.
type roof struct {
	FMA       float64 // float32 fused multiply-adds from registers, GFLOP/s of all workers together
	BF16      float64 // the fastest bf16 products from registers on a path's units, GFLOP/s
	Bandwidth float64 // reading memory far larger than the caches, GB/s of all workers together
}

// Seconds is the least time for that many bf16 operations and that many bytes read, which overlap. Without a known
// arithmetic peak it is the time of the bytes.
func (r roof) Seconds(operations, bytes float64) float64 {
	seconds := bytes / (r.Bandwidth * 1e9)
	if r.BF16 > 0 {
		seconds = max(seconds, operations/(r.BF16*1e9))
	}
	return seconds
}

// mean is the roof between two samples.
func (r roof) mean(q roof) roof {
	return roof{(r.FMA + q.FMA) / 2, (r.BF16 + q.BF16) / 2, (r.Bandwidth + q.Bandwidth) / 2}
}

// meter measures the roof before and after each piece of work, because it changes: other guests of the machine use
// bandwidth, and a processor may run its matrix tiles slower for seconds while everything else keeps its speed.
type meter struct {
	on     nn.Compute
	panels *kernel.Panels // keep the memory of area
	area   []float32      // far larger than the caches
	last   roof
	at     time.Time // time of last
}

const (
	sampleTime = 30 * time.Millisecond
	roundTime  = 200 * time.Millisecond // of work between samples, at least
	tilesWake  = 100 * time.Millisecond // how long idle tiles are slow at first
	fresh      = 10 * time.Millisecond  // largest age of a sample that counts as current
	sweepBytes = 512 << 20              // bytes of a sweep
	sweepPart  = 1 << 20                // bytes of a sweep that a worker reads at a time
)

// newMeter returns a meter for the units that a set's path computes on and a pool's workers, with so much memory.
func newMeter(on nn.Compute, bytes int) (*meter, error) {
	memory, err := kernel.NewMemory(bytes)
	if err != nil {
		return nil, err
	}
	panels := memory.Panels(kernel.NR, bytes/4/kernel.NR, false)
	m := &meter{on: on, panels: panels, area: panels.F32}
	for i := range m.area { // unwritten pages are all mapped to one zero page
		m.area[i] = 1
	}
	return m, nil
}

// round is a timed piece of work and the roof at that time.
type round struct {
	Seconds float64
	roof    roof // mean of the samples before and after the work
}

// Time runs work once or, if it is short, repeatedly for 200 ms, and returns the mean: the samples replace the
// contents of the caches. The sample after it serves as the one before the next Time, if that follows at once.
func (m *meter) Time(work func()) round {
	before := m.last
	if time.Since(m.at) > fresh {
		before = m.Sample()
	}
	seconds := 1 / (1e9 * nn.Rate(roundTime, 1, work))
	return round{seconds, before.mean(m.Sample())}
}

// medianOf is the median of f over the rounds, of which there must be at least one.
func medianOf(rounds []round, f func(round) float64) float64 {
	var x []float64
	for _, r := range rounds {
		x = append(x, f(r))
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// Sample measures the current roof, which takes 0.2 s. Without vector kernels there is no loop, and FMA and BF16 are 0.
func (m *meter) Sample() roof {
	if m.on.K.Path() == kernel.AMX {
		m.on.Peaks(tilesWake)
	}
	m.last.Bandwidth = m.bandwidth()
	m.last.FMA, m.last.BF16 = m.on.Peaks(sampleTime)
	m.at = time.Now()
	return m.last
}

// bandwidth reads the whole area in parallel parts and returns GB/s.
func (m *meter) bandwidth() float64 {
	const part = sweepPart / 4
	return nn.Rate(sampleTime, 4*float64(len(m.area)), func() {
		m.on.P.Run(len(m.area)/part, func(i int, _ *kernel.Scratch) { m.on.K.Max(m.area[i*part : (i+1)*part]) })
	})
}

// TestMeterSample: every path of this processor has a roof, and vectors that can multiply bf16 in two ways have at
// least the float32 peak.
func TestMeterSample(t *testing.T) {
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
		g, err := newMeter(nn.Compute{K: s, P: p}, 8<<20)
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

// TestMeterTime: a round has the work's seconds and the mean roof of two samples. The first sample is the second one of
// the previous round, unless that is old.
func TestMeterTime(t *testing.T) {
	p := kernel.NewPool(1)
	defer p.Close()
	portable, err := kernel.New(kernel.Portable, kernel.Sequential)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newMeter(nn.Compute{K: portable, P: p}, 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	var rounds []round
	for _, old := range []bool{true, false, true} {
		kept := g.last
		if g.at = time.Now().Add(time.Hour); old {
			g.at = time.Time{}
		}
		var before roof
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
		if want := before.mean(g.last); r.roof != want {
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
	seconds := func(r round) float64 { return r.Seconds }
	if got, want := medianOf(rounds[:2], seconds), (rounds[0].Seconds+rounds[1].Seconds)/2; got != want {
		t.Errorf("the median of two is %v, want %v", got, want)
	}
	if got := medianOf(rounds[:1], seconds); got != rounds[0].Seconds {
		t.Errorf("the median of one is %v", got)
	}
}

func TestRoofline(t *testing.T) {
	for _, x := range []struct{ bf16, operations, bytes, want float64 }{
		{100, 4e11, 1e10, 4}, // bound by arithmetic
		{100, 4e11, 6e10, 6}, // by memory
		{0, 4e11, 1e10, 1},   // the peak is unknown
	} {
		if got := (roof{BF16: x.bf16, Bandwidth: 10}).Seconds(x.operations, x.bytes); got != x.want {
			t.Errorf("%+v takes %v seconds", x, got)
		}
	}
}
