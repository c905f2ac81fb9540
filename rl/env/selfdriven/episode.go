package selfdriven

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// episode is a running episode.
type episode struct {
	ctx   context.Context // ends with the episode
	end   context.CancelCauseFunc
	calls chan *call
	over  chan struct{} // closed when nothing of it runs any more
	parts []workflow.Part
	err   error // after over

	mu    sync.Mutex
	agent string // the session of its calls
}

// call waits for the player.
type call struct {
	prompt string
	answer chan string // gets one
}

func newEpisode(ctx context.Context) *episode {
	e := &episode{calls: make(chan *call), over: make(chan struct{})}
	e.ctx, e.end = context.WithCancelCause(ctx)
	return e
}

// finish notes how the episode ended.
func (e *episode) finish(parts []workflow.Part, err error) {
	if cause := context.Cause(e.ctx); cause != nil {
		err = cause // why it was ended says more
	}
	e.parts, e.err = parts, err
	e.end(errOver)
	close(e.over)
}

// The reasons for which episodes end.
var (
	errOver = errors.New("selfdriven: the episode is over")
	errLeft = errors.New("selfdriven: the player left the episode")
)

// await waits for the next call, or for the end: nil.
func (e *episode) await() (*call, error) {
	select {
	case c := <-e.calls:
		return c, nil
	case <-e.over:
		return nil, e.err
	}
}

// reward is the reward of an episode that is over, with its metrics.
func (e *episode) reward() (workflow.Part, error) {
	switch len(e.parts) {
	case 0:
		return workflow.Part{}, errors.New("the episode ended without a reward")
	case 1:
		return e.parts[0], nil
	}
	return workflow.Part{}, errSeveral
}

// errSeveral refuses episodes of several agents.
var errSeveral = errors.New("the episode has several agents, and here the player is one; train them with trinity " +
	"run, path: verifiers:ID and default_workflow_type: verifiers_workflow")

// ask has the player answer a prompt. It implements workflow.Player.
func (e *episode) ask(ctx context.Context, session, prompt string) (string, error) {
	if err := e.comes(session); err != nil {
		return "", err
	}
	c := &call{prompt, make(chan string, 1)}
	select {
	case e.calls <- c:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-e.ctx.Done():
		return "", e.gone()
	}
	select {
	case answer := <-c.answer:
		return answer, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-e.ctx.Done():
		return "", e.gone()
	}
}

// comes notes which agent a call comes from. A second one ends the episode.
func (e *episode) comes(agent string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.agent = cmp.Or(e.agent, agent)
	if agent == "" || agent == e.agent {
		return nil
	}
	e.end(errSeveral)
	return e.gone()
}

// gone refuses calls of an episode that is over. Clients do not try these again.
func (e *episode) gone() error {
	return &endpoint.Error{Status: http.StatusConflict, Type: "invalid_request_error", Code: "rollout_finished",
		Message: fmt.Sprintf("the episode is over: %v", context.Cause(e.ctx))}
}
