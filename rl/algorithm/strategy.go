package algorithm

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// SampleStrategy says which experiences make a training step of n.
type SampleStrategy struct {
	Name         string
	ExpertRatio  float64 // share that comes from ExpertBuffer; 0 for all strategies but mix
	ExpertBuffer string  // name of the auxiliary buffer
	MaxStaleness float64 // a sample of weights version v is used until step v+1+MaxStaleness; +Inf is any
}

// SampleStrategies is the table of sample strategies by the value of algorithm.sample_strategy. warmup is the old name
// of default.
func SampleStrategies() map[string]func(Args) (SampleStrategy, error) {
	plain := func(name string) func(Args) (SampleStrategy, error) {
		return func(args Args) (SampleStrategy, error) {
			return SampleStrategy{Name: name, MaxStaleness: math.Inf(1)}, arg.Read(args).Close()
		}
	}
	return map[string]func(Args) (SampleStrategy, error){
		"default": plain("default"),
		"warmup":  plain("default"),
		"mix": func(args Args) (SampleStrategy, error) {
			r := arg.Read(args)
			s := SampleStrategy{"mix", r.Float("expert_data_ratio", 0.5), r.Text("sft_dataset_name", "sft_dataset"),
				math.Inf(1)}
			r.Require(s.ExpertRatio >= 0 && s.ExpertRatio <= 1, "expert_data_ratio", s.ExpertRatio, "between 0 and 1")
			return s, r.Close()
		},
		"staleness_control": func(args Args) (SampleStrategy, error) {
			r := arg.Read(args)
			s := SampleStrategy{Name: "staleness_control", MaxStaleness: math.Inf(1)}
			if x := floatOrNil(r, "max_staleness"); x != nil {
				s.MaxStaleness = *x
			}
			r.Require(s.MaxStaleness >= 0, "max_staleness", s.MaxStaleness, "0 or more")
			return s, r.Close()
		},
	}
}

// Split says how many of a step's n experiences are usual and how many come from ExpertBuffer: ceil(ratio*n).
func (s SampleStrategy) Split(n int) (usual, expert int) {
	expert = min(n, int(math.Ceil(float64(s.ExpertRatio*float64(n))-1e-9))) // 0.2*10 is not quite 2
	return n - expert, expert
}

// MinVersion is the oldest weights version that a sample may come from when the given step is trained (the first is 1).
func (s SampleStrategy) MinVersion(step int) int {
	if s.MaxStaleness >= float64(step-1) {
		return 0
	}
	return step - 1 - int(math.Floor(s.MaxStaleness))
}

// Expert makes an experience of the expert buffer trainable beside rollouts: reward 0, log-probabilities and advantages
// of 0, and Info.IsExpert.
func Expert(e *experience.Experience) {
	e.SetReward(0)
	e.Logprobs = make([]float32, len(e.ActionMask))
	e.Advantages = make([]float32, len(e.ActionMask))
	e.Returns = make([]float32, len(e.ActionMask))
	e.Info.IsExpert = true
}
