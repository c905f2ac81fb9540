package job

import (
	"math/rand/v2"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// Shuffled is the control of an experiment: the advantages of GRPO, given to the members of each group at random. They
// have the same sizes and no information, so that a run with them must not learn.
func Shuffled() run.Plugins {
	return run.Plugins{Advantages: map[string]func(algorithm.Args) (algorithm.Advantage, error){
		"grpo": func(args algorithm.Args) (algorithm.Advantage, error) {
			real, err := algorithm.Advantages()["grpo"](args)
			return shuffled{real}, err
		}}}
}

type shuffled struct{ algorithm.Advantage }

func (s shuffled) Assign(list []*experience.Experience, r *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	list, m, err := s.Advantage.Assign(list, r)
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		values := make([]float32, len(g.Experiences))
		for i, e := range g.Experiences {
			values[i] = first(e.Advantages)
		}
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		for i, e := range g.Experiences {
			for j := range e.Advantages {
				e.Advantages[j], e.Returns[j] = values[i], values[i]
			}
		}
	}
	return list, m, err
}

func first(v []float32) float32 {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}
