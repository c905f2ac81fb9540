package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// rowResult is the measurements of a row with one peer.
type rowResult struct {
	row     row
	peer    string
	version string
	setting setting
	ours    []float64 // seconds of each repetition
	theirs  []float64
	check   [2]float64 // trinity's and the peer's
	missing string     // why the row was not measured
}

// rate is the row's tokens per second at the median time.
func (r rowResult) rate(seconds []float64) float64 { return float64(r.row.count()) / median(seconds) }

// noise is the quartiles of the row's rate.
func (r rowResult) noise(seconds []float64) string {
	n := float64(r.row.count())
	return digits(n/quantile(seconds, 0.75)) + "–" + digits(n/quantile(seconds, 0.25))
}

// ratio is trinity's rate divided by the peer's: the ratio of the medians.
func (r rowResult) ratio() float64 { return median(r.theirs) / median(r.ours) }

// agree reports whether both computed the same to bf16's precision.
func (r rowResult) agree() bool {
	return math.Abs(r.check[0]-r.check[1]) <= 0.02*math.Max(1, math.Abs(r.check[0]))
}

// clear reports whether the peer is so much slower that more repetitions are not needed.
func (r rowResult) clear(p peer) bool { return len(r.ours) > 1 && r.ratio() > 4*r.row.wanted(p) }

func median(x []float64) float64 { return quantile(x, 0.5) }

// quantile returns the q-quantile of x, interpolated linearly between neighbours.
func quantile(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	at := float64(q * float64(len(x)-1))
	i := int(at)
	if i+1 == len(x) {
		return x[i]
	}
	return x[i] + float64((at-float64(i))*(x[i+1]-x[i]))
}

// contest measures rows with two programs, trinity and a peer.
type contest struct {
	options
	threads int
	bf16    bool          // the processor has units for bf16
	most    time.Duration // for one piece of work
	settle  time.Duration // between the turns
	end     time.Time     // after it no row begins; zero is no limit
	log     func(format string, args ...any)
}

// measure alternates between the programs on a row. The peer's setting is the best one for such work on this model,
// which is found with the first such row and kept in best.
func (c contest) measure(ctx context.Context, r row, folder string, us, them *program, p peer,
	best map[string]setting) rowResult {
	out := rowResult{row: r, peer: p.name, version: them.Version}
	job := workRequest{Work: r.kind, Model: folder, GGUF: r.shape.gguf, IDs: r.ids(), Sequences: r.sequences,
		Steps: r.steps, Rank: loraRank, Recompute: r.recompute}
	theirs := job
	var err error
	if s, ok := best[r.alike()]; ok {
		theirs.setting = s
		_, err = them.do(theirs, c.most) // warm up
	} else {
		theirs.setting, err = c.best(job, c.settings(p, r), them, r)
	}
	if err != nil {
		out.missing = err.Error()
		return out
	}
	best[r.alike()] = theirs.setting
	out.setting = theirs.setting
	job.setting = setting{DType: "bf16", Threads: c.threads}
	warm, err := us.do(job, c.most) // packs the weights and allocates the memory
	if err != nil {
		out.missing = "trinity: " + err.Error()
		return out
	}
	last := [2]float64{warm.Seconds, warm.Seconds}
	began := time.Now()
	for n := 0; c.another(n, time.Since(began)) && !out.clear(p); n++ {
		for i, turn := range []struct {
			p   *program
			job workRequest
			to  *[]float64
		}{{us, job, &out.ours}, {them, theirs, &out.theirs}} {
			a, err := c.turn(turn.p, turn.job, last[i])
			if err == nil && ctx.Err() != nil {
				err = ctx.Err()
			}
			if err != nil {
				out.missing = err.Error()
				return out
			}
			*turn.to, out.check[i], last[i] = append(*turn.to, a.Seconds), a.Check, a.Seconds
		}
	}
	return out
}

// turn has a program do the work once, after the other program's turn, whose idle threads spin for a while. Work that
// was short the last time is warmed up first, since idle tiles are slow at first.
func (c contest) turn(p *program, job workRequest, last float64) (answer, error) {
	const short = 1.5
	if last > short {
		time.Sleep(c.settle)
	}
	for start := time.Now(); last <= short && time.Since(start) < c.settle; {
		if a, err := p.do(job, c.most); err != nil {
			return a, err
		}
	}
	return p.do(job, c.most)
}

// another reports whether a row is repeated, after n repetitions and the time so far.
func (c contest) another(n int, took time.Duration) bool {
	const few, long = 3, 90 * time.Second
	return n < min(few, c.Least) || n < c.Least && took < long || n < c.Repeat && took < c.Time
}

// settings returns the settings to try.
func (c contest) settings(p peer, r row) []setting {
	list := p.settings(r, c.threads)
	if !c.bf16 { // products of bf16 are emulated there
		slices.SortStableFunc(list, func(a, b setting) int { return strings.Compare(b.DType, a.DType) })
	}
	if c.Compile && p.compiler {
		compiled := list[0]
		compiled.Compile = true
		list = append(list, compiled)
	}
	return list
}

// hopeless is the ratio to the best setting's time above which a setting is not tried a second time.
const hopeless = 2.5

// best tries each setting twice, the first time to warm up, and returns the fastest. Settings that fail are left out;
// if all fail, the last one's error is returned. Once a setting is known, another has a minute, to load the model too,
// and as long as the first takes to be hopeless.
func (c contest) best(job workRequest, settings []setting, them *program, r row) (setting, error) {
	var found setting
	var failed error
	least := math.Inf(1)
	for _, s := range settings {
		job.setting = s
		most := c.most
		if !math.IsInf(least, 1) {
			most = min(most, time.Minute+time.Duration(hopeless*least*float64(time.Second)))
		}
		a, err := them.do(job, most)
		if err == nil && len(settings) > 1 && a.Seconds < hopeless*least {
			a, err = them.do(job, most)
		}
		if err != nil {
			failed = err
			c.log("  %s: %v", s, err)
			continue
		}
		c.log("  %s: %.4g tokens/s", s, float64(r.count())/a.Seconds)
		if a.Seconds < least {
			least, found = a.Seconds, s
		}
	}
	if math.IsInf(least, 1) {
		return found, fmt.Errorf("no setting works: %w", failed)
	}
	return found, nil
}
