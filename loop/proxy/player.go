package proxy

import (
	"context"
	"errors"

	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// played answers one call of a rollout with the rollout's player. It implements tinker.SamplingClient.
type played struct {
	player workflow.Player
	call   *taker
}

// allows refuses parameters that only weights can answer.
func (p played) allows(a *endpoint.Asked) error {
	if a.Gives("logprobs", "top_logprobs", "prompt_logprobs", "echo") {
		return bad("logprobs are not known where an episode is played for trinity gem; trinity run, with " +
			"verifiers_workflow, answers with them")
	}
	return nil
}

// Sample implements tinker.SamplingClient.
func (p played) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if len(req.Prompt.Chunks) != 1 || req.Prompt.Chunks[0].Image != nil {
		return nil, errors.New("proxy: the prompt is no text")
	}
	text, prompt := p.call.text, p.call.prompt
	if !p.call.asked { // the prompt was given as ids
		prompt = text.Tokenizer.Decode(req.Prompt.Chunks[0].Tokens, false)
	}
	future, resolve := tinker.NewFuture[tinker.SampleResponse]()
	go func() {
		answer, err := p.player(ctx, p.call.session, prompt)
		if err != nil {
			resolve(tinker.SampleResponse{}, err)
			return
		}
		q := tinker.SampledSequence{Tokens: text.Tokenizer.Encode(answer, false), StopReason: tinker.StopStop}
		if len(text.Ends) > 0 {
			q.Tokens = append(q.Tokens, text.Ends[0])
		}
		q.Logprobs = make([]float32, len(q.Tokens)) // nobody is shown them
		resolve(tinker.SampleResponse{Sequences: []tinker.SampledSequence{q}}, nil)
	}()
	return future, nil
}
