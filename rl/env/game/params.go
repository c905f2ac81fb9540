package game

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// limits says which values a parameter may have: a range, or Drawn where drawn is set.
type limits struct {
	name   string
	lo, hi int
	drawn  bool
}

// check compares parameters with their limits.
func check(p env.Params, all ...limits) error {
	for _, l := range all {
		v := p[l.name]
		if l.drawn && v == env.Drawn {
			continue
		}
		if v < l.lo || v > l.hi {
			return fmt.Errorf("%s is %d; it must be from %d to %d", l.name, v, l.lo, l.hi)
		}
	}
	return nil
}

// turns are the limits of max_turns.
var turns = limits{"max_turns", 1, 1 << 30, true}

// anyDrawn reports whether one of the named parameters is drawn at each reset.
func anyDrawn(p env.Params, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p[name] == env.Drawn })
}
