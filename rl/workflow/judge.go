package workflow

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

// Judge is a model that is asked about the policy's answers. Implementations are safe for concurrent use.
type Judge interface {
	// Ask returns one answer to a conversation. The seed decides it where the judge lets it be decided.
	Ask(ctx context.Context, messages []chat.Message, temperature float64, seed uint64) (string, error)
}

// Judged reports whether the workflow of that name asks a judge.
func Judged(name string) bool {
	switch w := Workflows()[name].(type) {
	case Ruler:
		return true
	case Rubric:
		return !w.API
	}
	return false
}

// judge is the first auxiliary model.
func judge(r *Rollout, name string) (Judge, error) {
	if len(r.Judges) == 0 {
		return nil, fmt.Errorf("workflow: %s needs a judge; name its model_path under explorer.auxiliary_models", name)
	}
	return r.Judges[0], nil
}
