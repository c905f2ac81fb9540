package proxy

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// heedless answers four tokens to any call, however many it may.
type heedless struct {
	foreign
	params []tinker.SamplingParams
}

func (h *heedless) Sample(ctx context.Context, r tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	h.params = append(h.params, r.Params)
	return h.foreign.Sample(ctx, r)
}

// limited opens a rollout with limits.
func limited(t *testing.T, o *Offers, l workflow.Limits) (workflow.Offered, *heedless) {
	t.Helper()
	sampler := &heedless{foreign: foreign{text: "abab"}}
	one, err := o.Open(workflow.Opening{Name: "n", Sampler: sampler, Params: tinker.DefaultSampling(), Private: true,
		Limits: l, Context: 500})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(one.Close)
	return one, sampler
}

// A rollout refuses models that it does not have, and calls beyond its tokens and its calls.
func TestLimits(t *testing.T) {
	o, url := offering(t, false)
	one, sampler := limited(t, o, workflow.Limits{Tokens: 7, Models: []string{"any", "policy"}})
	base := url + "/rollouts/" + one.ID() + "/v1/chat/completions"
	ask := func(base, body string, status int, want string) {
		t.Helper()
		got, _, answer := requested(t, "POST", base, "", body)
		if got != status || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %d %s", body, got, answer, status, want)
		}
	}
	ask(base, strings.Replace(question, "any", "gpt-7", 1), 404,
		`the model \"gpt-7\" is not here; this rollout has any, policy`)
	if len(sampler.params) != 0 {
		t.Error("a model that is not there was asked")
	}
	ask(base, question, 200, "abab")
	// the sampler does not heed max_tokens, so that what is above the limit is refused when it is recorded
	ask(base, question, 400, "rollout_tokens_spent")
	if p := sampler.params[1]; p.MaxTokens != 3 {
		t.Errorf("an answer may have %d tokens, and 3 are left", p.MaxTokens)
	}
	if n := len(one.Calls()); n != 1 {
		t.Errorf("%d calls are recorded, want 1", n)
	}
	one, _ = limited(t, o, workflow.Limits{Calls: 2})
	base = url + "/rollouts/" + one.ID() + "/v1/chat/completions"
	ask(base, question, 200, "abab")
	ask(base, question, 200, "abab")
	ask(base, question, 400, "rollout_calls_spent")
	one, _ = limited(t, o, workflow.Limits{Tokens: 4})
	base = url + "/rollouts/" + one.ID() + "/v1/chat/completions"
	ask(base, question, 200, "abab")
	ask(base, question, 400, "has sampled 4 of its 4 tokens (workflow_args.max_tokens)")
}

// A rollout is graded in parts: one for each session that has a reward. What a part continues of another is masked.
func TestGrade(t *testing.T) {
	o, url := offering(t, false)
	one, _ := limited(t, o, workflow.Limits{})
	base := url + "/rollouts/" + one.ID() + "/v1/chat/completions"
	const second = `{"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"abab"},` +
		`{"role":"user","content":"sure?"}]}`
	for _, c := range [][2]string{{"solver", question}, {"judge", second}, {"other", question}} {
		if status, _, body := requested(t, "POST", base, c[0], c[1]); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	if _, err := one.Grade(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "ended without a reward") {
		t.Errorf("no reward: %v", err)
	}
	if _, err := one.Grade(t.Context(), []workflow.Part{{Reward: math.NaN()}}); err == nil ||
		!strings.Contains(err.Error(), "the reward is NaN") {
		t.Errorf("NaN: %v", err)
	}
	if _, err := one.Grade(t.Context(), []workflow.Part{{Session: "nobody"}}); !errors.Is(err,
		workflow.ErrNothingTrained) {
		t.Errorf("a session without calls: %v", err)
	}
	list, err := one.Grade(t.Context(), []workflow.Part{{Session: "judge", Reward: 2}, {Session: "nobody", Reward: 3},
		{Session: "solver", Reward: 1, Metrics: map[string]float64{"accuracy": 1}}})
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	judge, solver := list[0], list[1]
	if judge.RewardOr(0) != 2 || judge.TrainableTokens() != 4 || judge.ResponseLength() <= 8 || len(judge.Starts) != 0 {
		t.Errorf("the judge continues the solver, whose tokens are masked: %+v", judge)
	}
	if solver.RewardOr(0) != 1 || solver.TrainableTokens() != 4 || solver.ResponseLength() != 4 ||
		solver.Metrics["accuracy"] != 1 {
		t.Errorf("the solver: %+v", solver)
	}
	for _, e := range list {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
	}
	if status, _, body := requested(t, "POST", base, "", question); status != 409 {
		t.Errorf("a call after the end: %d %s", status, body)
	}

	one, _ = limited(t, o, workflow.Limits{})
	if _, err := one.Grade(t.Context(), []workflow.Part{{Reward: 1}}); err == nil ||
		!strings.Contains(err.Error(), "asked the model nothing") {
		t.Errorf("no call: %v", err)
	}
	base = url + "/rollouts/" + one.ID()
	requested(t, "POST", base+"/v1/chat/completions", "", question)
	requested(t, "POST", base+"/feedback", "", `{"reward": 0.25}`)
	if _, err := one.Grade(t.Context(), []workflow.Part{{Reward: 1}}); err == nil ||
		!strings.Contains(err.Error(), "two rewards") {
		t.Errorf("two rewards: %v", err)
	}
	list, err = one.Grade(t.Context(), nil)
	if err != nil || len(list) != 1 || list[0].RewardOr(0) != 0.25 {
		t.Errorf("the reward that was sent: %v, %v", list, err)
	}
}
