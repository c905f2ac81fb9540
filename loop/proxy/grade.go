package proxy

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// Grade implements workflow.Offered.
func (o *offer) Grade(_ context.Context, parts []workflow.Part) ([]*experience.Experience, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(parts) == 0 {
		return o.rewarded()
	}
	if err := o.over(); err != nil {
		return nil, fmt.Errorf("proxy: rollout %s has two rewards: one was sent to its URL, another was written: %w",
			o.id, err)
	}
	if len(o.tree.calls) == 0 {
		return nil, fmt.Errorf("proxy: rollout %s asked the model nothing at its URL, so that there is nothing to "+
			"train", o.id)
	}
	var list []*experience.Experience
	for _, part := range parts {
		if !experience.Finite(part.Reward) {
			return nil, fmt.Errorf("proxy: rollout %s: the reward is %v; it must be a finite number", o.id, part.Reward)
		}
		own := &o.tree
		if part.Session != "" {
			own = o.tree.of(part.Session)
		}
		if len(own.calls) == 0 {
			continue
		}
		e := own.experience()
		e.SetReward(part.Reward)
		part.AddMetrics(e)
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("proxy: rollout %s: %w", o.id, workflow.ErrNothingTrained)
	}
	o.end(errRewarded(o.id))
	return list, nil
}

// rewarded is the rollout as the reward that was sent ended it.
func (o *offer) rewarded() ([]*experience.Experience, error) {
	select {
	case e := <-o.done:
		return []*experience.Experience{e}, nil
	default:
		return nil, errUnrewarded(o.id)
	}
}
