package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// begin makes a rollout of serve mode, which begins with its first call. Its calls sample with the newest weights. It
// is in memory until it has its reward; then it is one experience of the history.
func (s *Server) begin(ctx context.Context, id string) (*rollout, error) {
	name := recordOf(id)
	over, err := s.History.Has(ctx, name)
	if err != nil {
		return nil, err
	}
	if over {
		return nil, errRewarded(id)
	}
	r := newRollout(id)
	r.params, r.context = s.Params, s.Context
	r.sampling = func() (tinker.SamplingClient, int, error) { s.asked.Add(1); return s.sampling() }
	r.seed = func(a *endpoint.Asked) (uint64, error) { return seedOf(a.ID) }
	task, run := groupOf(id)
	r.finish = func(ctx context.Context, e *experience.Experience, g grade) error {
		if g.task == "" {
			g.task, g.run = task, run
		}
		e.EID = experience.EID{Task: g.task, Run: g.run, Suffix: name[len(name)-6:]}
		return s.History.Graded(ctx, name, buffer.Grade{Task: g.task, Run: g.run, Reward: g.reward}, e)
	}
	return r, nil
}

// mostName is the length of the history's names.
const mostName = 64

// recordOf is the name of a rollout in the history.
func recordOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "rollout-" + hex.EncodeToString(sum[:20])
}

// groupOf is the task and run of a rollout whose reward names none: its id, and the number of the attempt.
func groupOf(id string) (task string, run int) {
	if head, n, ok := strings.Cut(id, "/attempt/"); ok {
		if i, err := strconv.Atoi(n); err == nil {
			id, run = head, i
		}
	}
	if len(id) > mostName {
		id = recordOf(id)
	}
	return cmp.Or(id, "rollout"), run
}
