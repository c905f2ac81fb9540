// Package roofline measures the peak rates of this machine next to timed work, for benchmarks that report their rates
// as a share of the peak (Williams, Waterman and Patterson, CACM 52(4), 2009).
package roofline

import (
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// Meter measures the roof before and after each piece of work, because it changes: other guests of the machine use
// bandwidth, and a processor may run its matrix tiles slower for seconds while everything else keeps its speed.
type Meter struct {
	set       *kernel.Set
	pool      *kernel.Pool
	f32, bf16 []peak
	panels    *kernel.Panels // keep the memory of area
	area      []float32      // far larger than the caches
	last      Roof
	at        time.Time // time of last
}

// peak is a register-only loop.
type peak struct {
	loop       func()
	operations float64
}

const (
	sampleTime = 30 * time.Millisecond
	roundTime  = 200 * time.Millisecond // of work between samples, at least
	tilesWake  = 100 * time.Millisecond // how long idle tiles are slow at first
	fresh      = 10 * time.Millisecond  // largest age of a sample that counts as current
	sweepBytes = 512 << 20              // bytes of a sweep
	sweepPart  = 1 << 20                // bytes of a sweep that a worker reads at a time
)

// NewMeter returns a meter for the units that a set's path computes on and a pool's workers. It takes 512 MiB.
func NewMeter(s *kernel.Set, p *kernel.Pool) (*Meter, error) { return newMeter(s, p, sweepBytes) }

func newMeter(s *kernel.Set, p *kernel.Pool, bytes int) (*Meter, error) {
	memory, err := kernel.NewMemory(bytes)
	if err != nil {
		return nil, err
	}
	panels := memory.Panels(kernel.NR, bytes/4/kernel.NR, false)
	m := &Meter{set: s, pool: p, panels: panels, area: panels.F32}
	for i := range m.area { // unwritten pages are all mapped to one zero page
		m.area[i] = 1
	}
	f32, bf16 := units(s.Path())
	m.f32, m.bf16 = peaksOf(f32), peaksOf(bf16)
	return m, nil
}

// Bytes is the memory of the meter.
func (m *Meter) Bytes() int { return 4 * len(m.area) }

// peaksOf returns the loops of those paths that the processor has.
func peaksOf(paths []kernel.Path) []peak {
	var list []peak
	for _, p := range paths {
		if loop, operations := kernel.PeakLoop(p); loop != nil {
			list = append(list, peak{loop, operations})
		}
	}
	return list
}

// Round is a timed piece of work and the roof at that time.
type Round struct {
	Seconds float64
	Roof    Roof // mean of the samples before and after the work
}

// Time runs work once or, if it is short, repeatedly for 200 ms, and returns the mean: the samples replace the
// contents of the caches. The sample after it serves as the one before the next Time, if that follows at once.
func (m *Meter) Time(work func()) Round {
	before := m.last
	if time.Since(m.at) > fresh {
		before = m.Sample()
	}
	seconds := 1 / (1e9 * during(roundTime, 1, work))
	return Round{seconds, before.mean(m.Sample())}
}

// Median is the median of f over the rounds, of which there must be at least one.
func Median(rounds []Round, f func(Round) float64) float64 {
	var x []float64
	for _, r := range rounds {
		x = append(x, f(r))
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// Sample measures the current roof, which takes 0.2 s. Without vector kernels there is no loop, and FMA and BF16 are 0.
func (m *Meter) Sample() Roof {
	if m.set.Path() == kernel.AMX {
		m.rate(m.bf16[0], tilesWake)
	}
	m.last = Roof{BF16: m.best(m.bf16), FMA: m.best(m.f32), Bandwidth: m.bandwidth()}
	m.at = time.Now()
	return m.last
}

// best is the rate of the fastest loop, in GFLOP/s.
func (m *Meter) best(loops []peak) float64 {
	rate := 0.0
	for _, l := range loops {
		rate = max(rate, m.rate(l, sampleTime))
	}
	return rate
}

// rate runs a loop on all workers for a time and returns its GFLOP/s.
func (m *Meter) rate(l peak, least time.Duration) float64 {
	const calls = 32 // of a worker at a time, some milliseconds
	parts := calls * m.pool.N()
	return during(least, l.operations*float64(parts), func() {
		m.pool.Run(parts, func(int, *kernel.Scratch) { l.loop() })
	})
}

// bandwidth reads the whole area in parallel parts and returns GB/s.
func (m *Meter) bandwidth() float64 {
	const part = sweepPart / 4
	return during(sampleTime, 4*float64(len(m.area)), func() {
		m.pool.Run(len(m.area)/part, func(i int, _ *kernel.Scratch) { m.set.Max(m.area[i*part : (i+1)*part]) })
	})
}

// during repeats f and returns billions of its units per second.
func during(least time.Duration, units float64, f func()) float64 {
	start, n := time.Now(), 0
	for n == 0 || time.Since(start) < least {
		f()
		n++
	}
	return float64(n) * units / float64(time.Since(start).Nanoseconds())
}

// Peak is the fastest rate of a set's units on a pool's workers, in GFLOP/s. It takes about 0.1 s. Without vector
// kernels it is an estimate.
func Peak(s *kernel.Set, p *kernel.Pool) float64 {
	f32, bf16 := units(s.Path())
	m := Meter{set: s, pool: p}
	if rate := max(m.best(peaksOf(f32)), m.best(peaksOf(bf16))); rate > 0 {
		return rate
	}
	return portablePeak * float64(p.N())
}

// portablePeak is about what portable Go reaches on one thread, in GFLOP/s.
const portablePeak = 1
