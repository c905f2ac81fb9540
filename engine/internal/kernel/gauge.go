package kernel

import (
	"slices"
	"time"
	"unsafe"
)

// Gauge measures the roof beside work, again and again, because it does not stand still: other guests of a machine take bandwidth, and a
// processor runs its tiles slower for seconds while everything else keeps its speed. A rate says something beside a bound of the same moments.
type Gauge struct {
	set       *Set
	pool      *Pool
	f32, bf16 []peak
	memory    *Memory
	area      []float32 // the memory's
	last      Roof
	at        time.Time // when last was measured
}

// peak is a register-only loop.
type peak struct {
	loop       func()
	operations float64
}

const (
	sampleTime = 30 * time.Millisecond
	roundTime  = 200 * time.Millisecond // of work between samples, at least
	tilesWake  = 100 * time.Millisecond // how long tiles that have rested are slow
	fresh      = 10 * time.Millisecond  // a sample so old is one of now
	sweepBytes = 512 << 20              // what a sweep reads
	sweepPart  = 1 << 20                // of it that a worker takes at a time
)

// NewGauge returns a gauge for the units that a set's path computes on and a pool's workers. It takes 512 MiB.
func NewGauge(s *Set, p *Pool) (*Gauge, error) { return newGauge(s, p, sweepBytes) }

func newGauge(s *Set, p *Pool, bytes int) (*Gauge, error) {
	memory, err := NewMemory(bytes)
	if err != nil {
		return nil, err
	}
	g := &Gauge{set: s, pool: p, memory: memory, area: unsafe.Slice((*float32)(unsafe.Pointer(&memory.data[0])), bytes/4)}
	for i := range g.area { // pages that were never written are all the same page
		g.area[i] = 1
	}
	f32, bf16 := units(s.Path())
	g.f32, g.bf16 = peaksOf(f32), peaksOf(bf16)
	return g, nil
}

// Bytes is the memory that the gauge takes.
func (g *Gauge) Bytes() int { return len(g.memory.data) }

// peaksOf returns the loops of those paths that the processor has.
func peaksOf(paths []Path) []peak {
	var list []peak
	for _, p := range paths {
		if loop, operations := peakLoop(p); loop != nil {
			list = append(list, peak{loop, operations})
		}
	}
	return list
}

// Round is a piece of work that was timed beside the roof.
type Round struct {
	Seconds float64
	Roof    Roof // between the samples before and behind the work
}

// Time runs work once, or, if that is short, as often as fills the time, and takes the mean: the samples leave the caches full of their own. The
// sample behind it is the one before the next, if that follows at once.
func (g *Gauge) Time(work func()) Round {
	before := g.last
	if time.Since(g.at) > fresh {
		before = g.Sample()
	}
	seconds := 1 / (1e9 * during(roundTime, 1, work))
	return Round{seconds, before.mean(g.Sample())}
}

// Median is the median of what f says of rounds, of which there is one at least.
func Median(rounds []Round, f func(Round) float64) float64 {
	var x []float64
	for _, r := range rounds {
		x = append(x, f(r))
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// Sample measures the roof now, in a fifth of a second. Where no loop is known, without AVX2, the arithmetic figures are 0.
func (g *Gauge) Sample() Roof {
	if g.set.Path() == AMX {
		g.rate(g.bf16[0], tilesWake)
	}
	g.last = Roof{BF16: g.best(g.bf16), FMA: g.best(g.f32), Bandwidth: g.bandwidth()}
	g.at = time.Now()
	return g.last
}

// best is the rate of the fastest loop, in GFLOP/s.
func (g *Gauge) best(loops []peak) float64 {
	rate := 0.0
	for _, l := range loops {
		rate = max(rate, g.rate(l, sampleTime))
	}
	return rate
}

// rate runs a loop on all workers for a time and returns its GFLOP/s.
func (g *Gauge) rate(l peak, least time.Duration) float64 {
	const calls = 32 // a worker's at a time, some milliseconds
	parts := calls * g.pool.N()
	return during(least, l.operations*float64(parts), func() {
		g.pool.Run(parts, func(int, *Scratch) { l.loop() })
	})
}

// bandwidth reads the whole area in parts, which the workers take as they come.
func (g *Gauge) bandwidth() float64 {
	const part = sweepPart / 4
	return during(sampleTime, 4*float64(len(g.area)), func() {
		g.pool.Run(len(g.area)/part, func(i int, _ *Scratch) { g.set.Max(g.area[i*part : (i+1)*part]) })
	})
}

// during repeats f and returns how many billion units of it a second takes.
func during(least time.Duration, units float64, f func()) float64 {
	start, n := time.Now(), 0
	for n == 0 || time.Since(start) < least {
		f()
		n++
	}
	return float64(n) * units / float64(time.Since(start).Nanoseconds())
}
