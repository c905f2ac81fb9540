package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// OperatorOf changes a list of experiences or, in the task pipeline, of tasks. It returns the list to continue with,
// and metrics without a prefix, which may be nil. It is called from one goroutine.
type OperatorOf[T any] interface {
	Process(ctx context.Context, list []T) (kept []T, metrics map[string]float64, err error)
}

// MakeOf makes an operator from its arguments.
type MakeOf[T any] func(args map[string]any) (OperatorOf[T], error)

// StepOf is an operator as the configuration names it.
type StepOf[T any] struct {
	Name     string
	Operator OperatorOf[T]
}

// NewStep makes the operator of a table. pipeline begins the errors. unknown says what is wrong with a name that is not
// in the table, which has those known.
func NewStep[T any](
	pipeline, name string, args map[string]any, table map[string]MakeOf[T], unknown func(known []string) string,
) (StepOf[T], error) {
	make, ok := table[name]
	if !ok {
		return StepOf[T]{}, fmt.Errorf("%s: operator %s", pipeline, unknown(slices.Sorted(maps.Keys(table))))
	}
	op, err := make(args)
	if err != nil {
		return StepOf[T]{}, fmt.Errorf("%s: operator %s: %w", pipeline, name, err)
	}
	return StepOf[T]{name, op}, nil
}

// Drop is how many elements a rule took out of a list.
type Drop struct {
	Rule string // an operator, by the name of the configuration, or what else drops elements
	N    int
}

// String is the rule and the number, such as "reward_filter 3".
func (d Drop) String() string { return fmt.Sprintf("%s %d", d.Rule, d.N) }

// RunSteps runs steps in order, and returns what they leave, their metrics, and which of them dropped how many. If two
// operators report the same metric the later one counts, as upstream has it. pipeline begins the errors.
func RunSteps[T any](ctx context.Context, pipeline string, steps []StepOf[T], list []T) (
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
