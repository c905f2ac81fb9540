package buffer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
)

// limitedRandomization is the name of the priority function that limits uses and draws noise.
const limitedRandomization = "decay_limit_randomization"

// NewPriority is the Priority that a priority function and its arguments name, upstream's replay_buffer. p has what does not depend on them:
// Seed, Reuse, Cooldown and Capacity.
func NewPriority(function string, args map[string]any, p Priority) (*Priority, error) {
	limited := function == limitedRandomization
	p.Decay = 2
	if limited {
		p.Limit = 3
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		v, ok := number(args[name])
		switch {
		case !ok || v < 0:
			return nil, &spell.Argument{Name: name, Text: fmt.Sprintf("is %v; it must be a number, 0 or more", args[name])}
		case name == "decay":
			p.Decay = v
		case name == "sigma" && limited:
			p.Sigma = v
		case name == "use_count_limit" && limited:
			p.Limit = int(v)
		default:
			known := []string{"decay"}
			if limited {
				known = append(known, "sigma", "use_count_limit")
			}
			return nil, fmt.Errorf("priority_fn %s: %w", function, spell.UnknownArgument(name, known))
		}
	}
	return &p, nil
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	}
	return 0, false
}
