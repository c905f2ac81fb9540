package workflow

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

// Judge is a model that is asked about the policy's answers. Implementations are safe for concurrent use.
type Judge interface {
	// Ask returns one answer to a conversation. The seed decides it where the judge lets it be decided.
	Ask(ctx context.Context, messages []chat.Message, temperature float64, seed uint64) (string, error)
}

// unreadable is the error of a verdict that says nothing about the answers: it is no reward, not even 0.
func unreadable(verdict, want string) error {
	return fmt.Errorf("judge: the verdict cannot be read, so the answers have no reward: it must have %s, and is %q",
		want, firstOf(verdict, 300))
}

// firstOf is the beginning of a text.
func firstOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
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
