package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// judge answers a request to an auxiliary model: the texts of n answers.
func (s *session) judge(ctx context.Context, raw json.RawMessage) (any, error) {
	var a struct {
		Model    int             `json:"model"`
		Messages json.RawMessage `json:"messages"`
		Params   params          `json:"params"`
		Nth      int             `json:"nth"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, err
	}
	h := fnv.New64a()
	h.Write(a.Messages)
	stream := rng.New(s.seed^h.Sum64()).Stream("judge", a.Model, a.Nth)
	return askJudge(ctx, s.r.Judges, a.Model, a.Messages, &a.Params, &stream)
}

// askJudge asks auxiliary model i for n answers.
func askJudge(ctx context.Context, judges []workflow.Judge, i int, raw json.RawMessage, p *params,
	draws *rng.Stream) ([]string, error) {
	if i < 0 || i >= len(judges) {
		return nil, fmt.Errorf("there is no auxiliary model %d; explorer.auxiliary_models has %d", i, len(judges))
	}
	messages, err := endpoint.ReadMessages(raw)
	if err != nil {
		return nil, err
	}
	temperature, n := 1.0, 1
	set(&temperature, p.Temperature)
	set(&n, p.N)
	list := make([]string, n)
	g, ctx := errgroup.WithContext(ctx)
	for k := range list {
		seed := draws.Uint64()
		g.Go(func() (err error) {
			if list[k], err = judges[i].Ask(ctx, messages, temperature, seed); err != nil {
				return fmt.Errorf("auxiliary model %d: %w", i, err)
			}
			return nil
		})
	}
	return list, g.Wait()
}

// chatAuxiliary answers chat() of an auxiliary model. Its tokens are not known here, so the experiences have their text
// alone, and none of them can be trained on.
func (s *session) chatAuxiliary(ctx context.Context, a *asking) (any, error) {
	raw, err := json.Marshal(map[string]any{"model": *a.Auxiliary, "messages": a.Messages,
		"params": map[string]any{"n": a.given.N, "temperature": a.given.Temperature}, "nth": a.Nth})
	if err != nil {
		return nil, err
	}
	got, err := s.judge(ctx, raw)
	if err != nil {
		return nil, err
	}
	list := []answer{}
	for _, text := range got.([]string) {
		list = append(list, answer{Ref: auxiliary, Tokens: int32s{0, 0}, Logprobs: float32s{0}, Mask: bools{false},
			Prompt: 1, Heard: text})
	}
	return list, nil
}

// auxiliary is the ref of an answer that another model gave.
const auxiliary = -1

// scorer is a judge that knows the logprobs of tokens.
type scorer interface {
	// Logprobs returns the logprob of each token but the first, at temperature 1.
	Logprobs(ctx context.Context, tokens []int32) ([]float32, error)
}

// scoresOf are the logprobs that an auxiliary model gives tokens, which must be its own.
func (s *session) scoresOf(ctx context.Context, a *asking) (any, error) {
	if *a.Auxiliary < 0 || *a.Auxiliary >= len(s.r.Judges) {
		return nil, fmt.Errorf("there is no auxiliary model %d; explorer.auxiliary_models has %d", *a.Auxiliary,
			len(s.r.Judges))
	}
	one, ok := s.r.Judges[*a.Auxiliary].(scorer)
	if !ok {
		return nil, fmt.Errorf("auxiliary model %d shows no logprobs", *a.Auxiliary)
	}
	got, err := one.Logprobs(ctx, a.Tokens)
	return map[string]any{"logprobs": float32s(got)}, err
}
