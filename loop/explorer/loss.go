package explorer

import (
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/operator"
)

// sayLoss tells the user when a step leaves nothing to train on, or nothing to learn from, and by which rules.
func (x *Explorer) sayLoss(step, sampled int, drops []operator.Drop, left []*experience.Experience) {
	if sampled == 0 || x.Warn == nil {
		return
	}
	if len(left) == 0 {
		rules := make([]string, len(drops))
		for i, d := range drops {
			rules[i] = d.String()
		}
		x.Warn(fmt.Sprintf("explore step %d: nothing is left to train on: all %d samples were dropped (%s)",
			step, sampled, strings.Join(rules, ", ")))
		return
	}
	if silent(left) {
		x.Warn(fmt.Sprintf("explore step %d: no group has a signal: the advantages (%s) of all %d samples are 0",
			step, x.AdvantageName, len(left)))
	}
}

// silent reports whether experiences have advantages and all are 0. Where the trainer computes them there are none yet.
func silent(list []*experience.Experience) bool {
	for _, e := range list {
		if len(e.Advantages) == 0 {
			return false
		}
		for _, a := range e.Advantages {
			if a != 0 {
				return false
			}
		}
	}
	return true
}
