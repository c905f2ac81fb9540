// Package operator has what the experience pipeline and the task pipeline share: operators with names and arguments,
// which a configuration lists in order, each changing what the one before it left.
package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Operator changes a list. It returns the list to continue with, and metrics without a prefix, which may be nil. It is
// called from one goroutine.
type Operator[T any] interface {
	Process(ctx context.Context, list []T) (kept []T, metrics map[string]float64, err error)
}

// Make makes an operator from its arguments.
type Make[T any] func(args map[string]any) (Operator[T], error)

// Step is an operator as the configuration names it.
type Step[T any] struct {
	Name     string
	Operator Operator[T]
}

// New makes the operator of a table. pipeline begins the errors. unknown says what is wrong with a name that the table
// does not have, of those known.
func New[T any](
	pipeline, name string, args map[string]any, table map[string]Make[T], unknown func(known []string) string,
) (Step[T], error) {
	make, ok := table[name]
	if !ok {
		return Step[T]{}, fmt.Errorf("%s: operator %s", pipeline, unknown(slices.Sorted(maps.Keys(table))))
	}
	op, err := make(args)
	if err != nil {
		return Step[T]{}, fmt.Errorf("%s: operator %s: %w", pipeline, name, err)
	}
	return Step[T]{name, op}, nil
}

// Drop is how many elements a rule took out of a list.
type Drop struct {
	Rule string // an operator, by the name of the configuration, or what else drops elements
	N    int
}

// String says it for a person.
func (d Drop) String() string { return fmt.Sprintf("%s %d", d.Rule, d.N) }

// Run runs steps in order, and returns what they leave, their metrics, and which of them dropped how many. If two
// operators report the same metric the later one counts, as upstream has it. pipeline begins the errors.
func Run[T any](ctx context.Context, pipeline string, steps []Step[T], list []T) (
	[]T, map[string]float64, []Drop, error,
) {
	all := map[string]float64{}
	var drops []Drop
	for _, s := range steps {
		before := len(list) // an operator may change the slice
		kept, metrics, err := s.Operator.Process(ctx, list)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: operator %s: %w", pipeline, s.Name, err)
		}
		if n := before - len(kept); n > 0 {
			drops = append(drops, Drop{s.Name, n})
		}
		maps.Copy(all, metrics)
		list = kept
	}
	return list, all, drops, nil
}
