package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// Rate is the measured pass rate of a row.
type Rate struct {
	Taskset, Index int
	Value          float64
}

// Belief is the state of an adaptive selector: a Beta distribution of each row's pass rate, and how far the model
// is from the weak to the strong one whose pass rates the features are.
type Belief struct {
	Alpha, Beta []float64
	Between     float64 `json:"between"`
	Known       bool    `json:"known"` // Between has been measured
	Rho         float64 `json:"rho"`
}

// difficulty draws rows whose pass rate is believed to be near a target. Trinity-RFT's InterpolationBetaPREstimator:
// the rates measured of some rows tell something of all, by way of two features, the pass rates of a weak and of a
// strong model.
type difficulty struct {
	features [][]float64
	seed     int64

	m, lambda, target, tau float64
	adaptive, sample       bool
	belief                 Belief
}

func newDifficulty(plan Plan) (*difficulty, error) {
	given := arg.Read(plan.Args)
	d := &difficulty{features: plan.Features, seed: plan.Seed, m: given.Float("m", 16),
		lambda: given.Float("lamb", 0.2),
		target: given.Float("target_reward", 1), tau: given.Float("tau", 1),
		adaptive: given.Bool("adaptive_rho", false), sample: given.Bool("do_sample", false)}
	given.Require(d.tau >= 0, "tau", d.tau, "0 or more")
	d.belief = Belief{Alpha: ones(len(plan.Features)), Beta: ones(len(plan.Features)), Rho: given.Float("rho", 0.2)}
	if err := given.Close(); err != nil {
		return nil, fmt.Errorf("dataset: selector difficulty_based: %w", err)
	}
	return d, nil
}

func ones(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// pick takes the n rows of the highest score at tau 0, and else draws them without replacement from softmax(score /
// tau), as torch.multinomial does: the highest p/q, with q exponential.
func (d *difficulty) Pick(start, n int) []int {
	keys := d.scores(start)
	if d.tau > 0 {
		most, sum := slices.Max(keys), 0.0
		for i, s := range keys {
			keys[i] = elementary.Exp((s - most) / d.tau)
			sum += keys[i]
		}
		draws := python.Legacy(uint32(uint64(d.seed) + uint64(start)))
		for i := range keys {
			keys[i] = keys[i] / sum / -elementary.Log1p(-draws.Torch64())
		}
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[b], keys[a]) })
	return order[:n]
}

// scores are the negative distances of the believed pass rates from the target. With do_sample a rate is drawn from its
// distribution; upstream draws it with NumPy, this program with its own generator.
func (d *difficulty) scores(start int) []float64 {
	out := make([]float64, len(d.features))
	draws := rng.New(uint64(d.seed)).Stream("difficulty", start)
	for i := range out {
		a, b := d.belief.Alpha[i], d.belief.Beta[i]
		rate := a / (a + b)
		if d.sample {
			rate = beta(a, b, draws.Float64)
		}
		out[i] = -math.Abs(d.target - rate)
	}
	return out
}

// beta draws from a Beta distribution by two of Marsaglia and Tsang's gamma variates (ACM TOMS 26, 2000); a and b are
// above 0.
func beta(a, b float64, uniform func() float64) float64 {
	x, y := gamma(a, uniform), gamma(b, uniform)
	if x+y == 0 {
		return a / (a + b)
	}
	return x / (x + y)
}

func gamma(shape float64, uniform func() float64) float64 {
	if shape < 1 {
		return gamma(shape+1, uniform) * elementary.Pow(1-uniform(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := math.Sqrt(-2*elementary.Log(1-uniform())) * elementary.Cos(2*math.Pi*uniform())
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if elementary.Log(1-uniform()) < float64(0.5*x*x)+d-float64(d*v)+float64(d*elementary.Log(v)) {
			return d * v
		}
	}
}

// learn takes the rates measured of some rows into the belief about all.
func (d *difficulty) learn(rates []Rate) {
	if len(rates) == 0 {
		return
	}
	rate := meanOf(rates, func(r Rate) float64 { return r.Value })
	weak := meanOf(rates, func(r Rate) float64 { return d.features[r.Index][0] })
	strong := meanOf(rates, func(r Rate) float64 { return d.features[r.Index][1] })
	b := &d.belief
	c := (rate - weak) / (strong - weak + 1e-6)
	if b.Known {
		c = float64(0.9*b.Between) + float64(0.1*c)
	}
	b.Between, b.Known = c, true
	guess := make([]float64, len(d.features))
	for i, f := range d.features {
		guess[i] = min(max(float64((f[1]-f[0])*c)+f[0], 0), 1)
	}
	if d.adaptive {
		if meanOf(rates, func(r Rate) float64 { return math.Abs(guess[r.Index] - r.Value) }) >= 0.25 {
			b.Rho /= 2
		}
	}
	d.take(rates, guess)
}

// meanOf is the mean of f over rates: exactly the number that all of them have, if they do.
func meanOf(rates []Rate, f func(Rate) float64) (sum float64) {
	values := make([]float64, len(rates))
	for i, r := range rates {
		values[i] = f(r)
		sum += values[i] / float64(len(rates))
	}
	if moment.Equal(values) {
		return moment.Mean(values)
	}
	return sum
}

// take is the update of the distributions: old evidence fades by lambda, measured rates count 1-rho and interpolated
// ones rho.
func (d *difficulty) take(rates []Rate, guess []float64) {
	b := &d.belief
	measured := map[int]float64{}
	for _, r := range rates {
		measured[r.Index] = r.Value
		guess[r.Index] = r.Value
	}
	for i := range guess {
		own, ownNot := 0.0, 0.0
		if v, ok := measured[i]; ok {
			own, ownNot = v, 1-v
		}
		b.Alpha[i] = float64((1-d.lambda)*b.Alpha[i]) + d.lambda + float64((1-b.Rho)*own*d.m) + float64(
			b.Rho*guess[i]*d.m)
		b.Beta[i] = float64((1-d.lambda)*b.Beta[i]) + d.lambda + float64((1-b.Rho)*ownNot*d.m) + float64(
			b.Rho*(1-guess[i])*d.m)
	}
}
