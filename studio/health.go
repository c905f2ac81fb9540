package studio

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio/curve"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// Light is one thing to look at in a run, and how it stands.
type Light struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, warn, bad or unknown
	Reason string `json:"reason"`
}

// States of lights.
const (
	good    = "ok"
	warn    = "warn"
	bad     = "bad"
	unknown = "unknown"
)

// stateOf is the state of a share that is a warning and then bad from two thresholds on.
func stateOf(share, warning, worst float64) string {
	switch {
	case share < warning:
		return good
	case share < worst:
		return warn
	}
	return bad
}

// recent is how many of the last steps most lights look at.
const recent = 10

// health returns a run's lights, except those for which it measures nothing. docs/reference/metrics.md lists the
// thresholds.
func health(e *entry, log *curve.Log, t *rollout.Table, now time.Time) []Light {
	m := meter{log, t}
	lights := []Light{m.gap(), m.signal(), m.truncated(), m.entropy(), m.clipped(), m.gradient(), m.length(),
		m.stall(e.seen(), now)}
	return slices.DeleteFunc(lights, func(l Light) bool { return l.Reason == unmeasured })
}

// unmeasured is the reason of a light that does not apply to a run, such as truncated answers of a run that samples
// none.
const unmeasured = "the run does not measure it"

type meter struct {
	log   *curve.Log
	table *rollout.Table
}

// last are the values of the last steps of the first metric that there is.
func (m meter) last(n int, names ...string) ([]float64, bool) {
	name := m.log.First(names...)
	if name == "" {
		return nil, false
	}
	_, values := m.log.Series(name)
	values = lastOf(values, n)
	return values, len(values) > 0
}

// gap is how far the sampler's probabilities are from the trainer's.
func (m meter) gap() Light {
	l := Light{Name: "sampler–trainer gap", State: unknown, Reason: unmeasured}
	names := []string{"train/kl_sample_train_v1", "optim/kl_sample_train_v1", "rollout_corr/kl"}
	if step, lost := m.log.Lost(names...); lost {
		l.State, l.Reason = bad, fmt.Sprintf("not a finite number in step %d", step)
		return l
	}
	name := m.log.First(names...)
	if name == "" {
		return l
	}
	steps, values := m.log.Series(name)
	worst, at := 0.0, 0
	for i, v := range values {
		if math.Abs(v) > worst {
			worst, at = math.Abs(v), steps[i]
		}
	}
	switch {
	case worst == 0:
		l.State, l.Reason = good, fmt.Sprintf("exactly 0 in all %d steps: sampler and trainer agree to the last bit",
			len(values))
	case worst < 0.01:
		l.State, l.Reason = warn, fmt.Sprintf("up to %.3g nats (step %d): small, but not 0, so the run is off-policy",
			worst, at)
	default:
		l.State, l.Reason = bad, fmt.Sprintf("up to %.3g nats (step %d): the samples are of other weights, or of "+
			"other arithmetic, than the trainer's", worst, at)
	}
	return l
}

// signal is the share of groups whose rewards differ.
func (m meter) signal() Light {
	l := Light{Name: "groups without signal", State: unknown, Reason: unmeasured}
	share, ok := m.silent()
	if !ok {
		return l
	}
	l.Reason = fmt.Sprintf("%.0f %% of the groups of the last steps have equal rewards, so nothing is learned from "+
		"them", 100*share)
	l.State = stateOf(share, 0.5, 0.9)
	return l
}

// silent is the share of groups without signal in the last steps.
func (m meter) silent() (float64, bool) {
	if groups, silent := m.samples(func(f *rollout.Indexed) (int, int) {
		got := measure(f)
		return got.groups, got.noSignal
	}); groups > 0 {
		return float64(silent) / float64(groups), true
	}
	v, ok := m.last(recent, "env/all/by_group/frac_mixed")
	if !ok {
		return 0, false
	}
	return 1 - *mean(v), true
}

// samples sums two numbers over the files of the last steps that are trained on.
func (m meter) samples(count func(*rollout.Indexed) (of, some int)) (of, some int) {
	left := recent
	for _, f := range slices.Backward(m.table.Files) {
		if f.Set != "" || f.Segment == nil {
			continue
		}
		a, b := count(f)
		of, some = of+a, some+b
		if left--; left == 0 {
			break
		}
	}
	return of, some
}

func (m meter) truncated() Light {
	l := Light{Name: "truncated answers", State: unknown, Reason: unmeasured}
	share := 0.0
	if all, cut := m.samples(func(f *rollout.Indexed) (int, int) {
		return len(f.Rows), measure(f).truncated
	}); all > 0 {
		share = float64(cut) / float64(all)
	} else if v, ok := m.last(recent, "env/all/stop_reason/length", "rollout/response_truncated/mean"); ok {
		share = *mean(v)
	} else {
		return l
	}
	l.Reason = fmt.Sprintf("%.1f %% of the answers of the last steps were cut at the maximum length", 100*share)
	l.State = stateOf(share, 0.1, 0.3)
	return l
}

// entropy warns when the policy's entropy falls to a small part of what it was.
func (m meter) entropy() Light {
	l := Light{Name: "entropy", State: unknown, Reason: unmeasured}
	name := m.log.First("actor/entropy", "sampler/token_entropy", "optim/entropy")
	if name == "" {
		return l
	}
	_, values := m.log.Series(name)
	begin, now := *mean(values[:min(len(values), 5)]), *mean(lastOf(values, 5))
	l.Reason = fmt.Sprintf("%.3g nats a token, at the beginning %.3g", now, begin)
	switch {
	case now < 0.01 && begin > 0.05, begin > 0 && now < 0.05*begin:
		l.State = bad
		l.Reason += ": the model hardly tries anything else any more"
	case begin > 0 && now < 0.2*begin:
		l.State = warn
		l.Reason += ": it falls; exploration may end soon"
	case begin > 0 && now > 3*begin && now > 1:
		l.State = warn
		l.Reason += ": it rises; the answers become random"
	default:
		l.State = good
	}
	return l
}

func (m meter) clipped() Light {
	l := Light{Name: "clip fraction", State: unknown, Reason: unmeasured}
	v, ok := m.last(recent, "actor/pg_clipfrac", "optim/clip_fraction")
	if !ok {
		return l
	}
	share := *mean(v)
	l.State, l.Reason = good, fmt.Sprintf("%.2f %% of the tokens of the last steps are clipped", 100*share)
	if share > 0.3 {
		l.State = bad
	} else if share > 0.1 {
		l.State = warn
	}
	return l
}

// gradient looks for a norm far above what is usual in the run.
func (m meter) gradient() Light {
	l := Light{Name: "gradient norm", State: unknown, Reason: unmeasured}
	names := []string{"grad_norm", "actor/grad_norm", "optim/grad_norm", "train/grad_norm"}
	if step, lost := m.log.Lost(names...); lost {
		l.State, l.Reason = bad, fmt.Sprintf("not a finite number in step %d: the loss or the weights broke", step)
		return l
	}
	name := m.log.First(names...)
	if name == "" {
		return l
	}
	steps, values := m.log.Series(name)
	usual, tail := median(values), max(0, len(values)-recent)
	worst, at := 0.0, 0
	for i := tail; i < len(values); i++ {
		if values[i] > worst {
			worst, at = values[i], steps[i]
		}
	}
	l.State, l.Reason = good, fmt.Sprintf("at most %.3g in the last steps, usually %.3g", worst, usual)
	switch {
	case usual > 0 && worst > 20*usual:
		l.State, l.Reason = bad, fmt.Sprintf("%.3g in step %d, usually %.3g: a step went far off", worst, at, usual)
	case usual > 0 && worst > 5*usual:
		l.State, l.Reason = warn, fmt.Sprintf("%.3g in step %d, usually %.3g", worst, at, usual)
	}
	return l
}

// length looks whether answers grow while the reward does not.
func (m meter) length() Light {
	l := Light{Name: "length against reward", State: unknown, Reason: unmeasured}
	length := m.log.First("response_length/mean", "env/all/ac_tokens_per_turn", "rollout/response_length/mean")
	reward := rewardName(m.log)
	if length == "" || reward == "" {
		return l
	}
	_, lengths := m.log.Series(length)
	_, rewards := m.log.Series(reward)
	if len(lengths) < 2*recent || len(rewards) < 2*recent {
		l.Reason = fmt.Sprintf("the run has fewer than %d steps", 2*recent)
		return l
	}
	half := func(v []float64) (before, now float64) {
		return *mean(v[len(v)/2-recent/2 : len(v)/2+recent/2]), *mean(lastOf(v, recent))
	}
	wasLong, long := half(lengths)
	wasGood, isGood := half(rewards)
	l.State, l.Reason = good, fmt.Sprintf("since the middle of the run: length %.4g → %.4g, reward %.3g → %.3g",
		wasLong, long, wasGood, isGood)
	if long > 1.5*wasLong && isGood <= wasGood {
		l.State = warn
		l.Reason += ": answers grow and earn nothing for it"
	}
	return l
}

// stall looks for a run that has stopped making progress.
func (m meter) stall(s summary, now time.Time) Light {
	l := Light{Name: "progress", State: good, Reason: s.look.Why}
	switch s.look.State {
	case source.Killed:
		l.State = bad
		return l
	case source.Unknown:
		l.State = unknown
		return l
	case source.Finished, source.Stopped:
		return l
	}
	usual, ok := m.last(recent, "time/step", "time/total")
	quiet := now.Sub(s.look.Updated)
	if !ok || s.look.Updated.IsZero() {
		return l
	}
	each := time.Duration(*mean(usual) * float64(time.Second))
	l.Reason = fmt.Sprintf("the last step was written %s ago; a step takes %s", quiet.Round(time.Second),
		each.Round(time.Millisecond))
	switch {
	case quiet > max(10*each, 2*time.Minute):
		l.State = bad
		l.Reason = "stalled: " + l.Reason
	case quiet > max(4*each, 30*time.Second):
		l.State = warn
	}
	return l
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := append([]float64(nil), values...)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// inexact is the reason of the first light if a run lost exactness, "" if not.
func inexact(log *curve.Log) string {
	if l := (meter{log: log}).gap(); l.State == bad || l.State == warn && strings.Contains(l.Reason, "nats") {
		return l.Reason
	}
	return ""
}
