package carried

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// episode is one that is carried out.
type episode struct {
	id    string
	ctx   context.Context // ends with the episode
	end   context.CancelCauseFunc
	calls chan *call
	over  chan struct{} // closed when nothing of it runs any more
	parts []workflow.Part
	err   error // after over

	mu     sync.Mutex
	limits workflow.Limits
	asked  int    // calls
	spent  int    // tokens of answers
	agent  string // the header X-Session-ID of its calls
}

// call waits for the player.
type call struct {
	prompt string
	answer chan string // gets one
}

func newEpisode(ctx context.Context, id string, l workflow.Limits) *episode {
	e := &episode{id: id, calls: make(chan *call), over: make(chan struct{}), limits: l}
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
	errOver = errors.New("carried: the episode is over")
	errLeft = errors.New("carried: the player left the episode")
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

// reward is what an episode that is over was worth, with its metrics.
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

// ask has the player answer a prompt.
func (e *episode) ask(ctx context.Context, prompt string) (string, error) {
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

// gone refuses calls of an episode that is over.
func (e *episode) gone() error {
	return refused(http.StatusConflict, "rollout_finished", "the episode %q is over: %v", e.id, context.Cause(e.ctx))
}

// enter counts a call, or refuses it.
func (e *episode) enter(model string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	names := append([]string{"policy"}, e.limits.Models...)
	switch {
	case model != "" && !slices.Contains(names, model):
		return refused(http.StatusNotFound, "model_not_found", "the model %q is not here; this rollout has %s", model,
			strings.Join(names, ", "))
	case e.limits.Tokens > 0 && e.spent >= e.limits.Tokens:
		return refused(http.StatusBadRequest, "rollout_tokens_spent", "the episode %q has sampled %d of its %d tokens "+
			"(max_tokens)", e.id, e.spent, e.limits.Tokens)
	case e.limits.Calls > 0 && e.asked >= e.limits.Calls:
		return refused(http.StatusBadRequest, "rollout_calls_spent", "the episode %q has made its %d calls (max_calls)",
			e.id, e.asked)
	}
	e.asked++
	return nil
}

// spend counts the tokens of an answer.
func (e *episode) spend(tokens int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spent += tokens
}

// comes notes which agent a call comes from. A second one ends the episode.
func (e *episode) comes(agent string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.agent == "" {
		e.agent = agent
	}
	if agent == "" || agent == e.agent {
		return nil
	}
	e.end(errSeveral)
	return refused(http.StatusConflict, "several_agents", "%v", errSeveral)
}

// refused is an error that the program hears of, in OpenAI's form. Clients do not try these again.
func refused(status int, code, format string, args ...any) error {
	return &endpoint.Error{Status: status, Type: "invalid_request_error", Code: code,
		Message: fmt.Sprintf(format, args...)}
}
