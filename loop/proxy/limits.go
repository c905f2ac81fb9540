package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Limits of one rollout. Their errors have the status 400 or 404, which clients do not try again.

// knows refuses a model that the rollout does not have.
func (r *rollout) knows(model string) error {
	if len(r.limits.Models) == 0 || model == "" || slices.Contains(r.limits.Models, model) {
		return nil
	}
	return problem(http.StatusNotFound, "model_not_found", "the model %q is not here; this rollout has %s", model,
		strings.Join(r.limits.Models, ", "))
}

// spend counts a call, and refuses it if the rollout has reached its limits. The caller holds mu.
func (r *rollout) spend() error {
	if n := r.limits.Tokens; n > 0 && r.sampled >= n {
		return r.errSpent()
	}
	if n := r.limits.Calls; n > 0 && r.begun >= n {
		return problem(http.StatusBadRequest, "rollout_calls_spent", "rollout %q has made its %d calls "+
			"(workflow_args.max_calls)", r.id, n)
	}
	r.begun++
	return nil
}

// errSpent refuses tokens beyond the limit.
func (r *rollout) errSpent() error {
	return problem(http.StatusBadRequest, "rollout_tokens_spent", "rollout %q has sampled %d of its %d tokens "+
		"(workflow_args.max_tokens)", r.id, r.sampled, r.limits.Tokens)
}

// bound makes an answer end with the tokens that the rollout has left. The caller holds mu.
func (r *rollout) bound(p *tinker.SamplingParams) {
	if n := r.limits.Tokens; n > 0 && (p.MaxTokens == 0 || p.MaxTokens > n-r.sampled) {
		p.MaxTokens = n - r.sampled
	}
}

// errUnrewarded is the error of a rollout whose program ended without a reward.
func errUnrewarded(id string) error {
	return fmt.Errorf("proxy: rollout %s ended without a reward", id)
}
