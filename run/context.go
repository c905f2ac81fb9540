package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// buildContext finds how many tokens a sequence may have, so that every model that is asked about it can read
// it: the one that is trained and its samplers, the reference and the teacher. A service that does not tell
// refuses what is too long itself.
func (b *job) buildContext(ctx context.Context) error {
	caps, err := b.service.Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("run: what the service can do: %w", err)
	}
	need := b.method.Needs()
	b.context = contextOf(caps, b.model.name)
	asked := need.Ref || need.Teacher || (need.Entropy || need.Centre) && !caps.ExactEntropy
	if asked && b.context > 0 {
		b.context-- // logprobs of a text are asked for with one token behind it
	}
	if n := contextOf(caps, b.teacher.request.BaseModel); need.Teacher && n > 0 && (b.context == 0 || n-1 < b.context) {
		b.context = n - 1
	}
	return nil
}

// contextOf is the context of a base model, 0 if the service does not tell.
func contextOf(caps tinker.Capabilities, name string) int {
	for _, m := range caps.Models {
		if m.Name == name {
			return m.ContextLength
		}
	}
	return 0
}

// mostTokens is how many tokens a sequence may have by model.max_model_len and the models' context, 0 if
// neither is known.
func (b *job) mostTokens() int {
	if n := b.cfg.Model.MaxModelLen; n != nil && (b.context == 0 || *n < b.context) {
		return *n
	}
	return b.context
}
