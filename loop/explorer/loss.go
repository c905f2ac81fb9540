package explorer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
)

// sayLoss tells the user when a step leaves nothing to train on, or nothing to learn from, and by which rules.
func (x *Explorer) sayLoss(step, sampled int, drops []pipeline.Drop, left []*experience.Experience) {
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

// usable drops the groups with numbers that training can't use, which operators or the advantage function made.
func (x *Explorer) usable(step int, list []*experience.Experience,
	drops []pipeline.Drop) ([]*experience.Experience, []pipeline.Drop) {
	if experience.CheckAll(list) == nil {
		return list, drops
	}
	var kept []*experience.Experience
	for _, g := range experience.GroupBy(list, experience.EID.TID) {
		if err := experience.CheckAll(g.Experiences); err != nil {
			x.Warn(fmt.Sprintf("explore step %d: the group of task %s is left out: %v", step, g.ID, err))
			continue
		}
		kept = append(kept, g.Experiences...)
	}
	return kept, append(drops, pipeline.Drop{Rule: "numbers that are not finite", N: len(list) - len(kept)})
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

// reader is an operator or an advantage function that reads numbers of experiences by name.
type reader interface{ Reads() []string }

// sayMissing tells the user once of each number that an operator or the advantage function reads and no experience has.
func (x *Explorer) sayMissing(step int, list []*experience.Experience) {
	if len(list) == 0 || x.Warn == nil {
		return
	}
	say := func(part string, names []string) {
		for _, name := range names {
			has := func(e *experience.Experience) bool { _, ok := e.Measured(name); return ok }
			if slices.ContainsFunc(list, has) || slices.Contains(x.missed, name) {
				continue
			}
			x.missed = append(x.missed, name)
			x.Warn(fmt.Sprintf("explore step %d: %s reads %q, and none of %d samples has such a number in its info or "+
				"metrics", step, part, name, len(list)))
		}
	}
	for _, s := range x.Pipeline {
		if r, ok := s.Operator.(reader); ok {
			say(s.Name, r.Reads())
		}
	}
	if r, ok := x.Advantage.(reader); ok {
		say(cmp.Or(x.AdvantageName, "the advantage function"), r.Reads())
	}
}
