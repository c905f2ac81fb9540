package gem

import (
	"context"
	"errors"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Policy answers observations with a model. It does not change and is safe for concurrent use.
type Policy struct {
	Sampler     tinker.SamplingClient
	Tokens      Tokenizer
	Template    env.Template
	MaxTokens   int
	Temperature float64 // 0 is greedy
	Seed        uint64  // of all draws
	Context     int     // tokens that the model can read and write in all; 0: not known
}

// Answer samples one answer to an observation and records it in the episode's sequence: where the observation
// tells the episode so far in the form that the model knows, continues is true and the model reads its earlier
// actions as it sampled them. The draw is named by stream and ids. The answer ends with the context at the
// latest; a prompt that leaves no room for one is an error.
func (p *Policy) Answer(ctx context.Context, seq *chat.Sequence, obs env.Observation, stream string, ids ...int) (
	turn experience.Turn, continues bool, err error) {
	text := p.Template(obs.Prefix + obs.Text + obs.Suffix)
	prompt, continues, err := seq.Next(text, func(part string) ([]int32, error) {
		return p.Tokens.Encode(part, false), nil
	})
	if err != nil {
		return turn, false, err
	}
	draw := rng.New(p.Seed).Stream(stream, ids...)
	if turn, err = p.sample(ctx, prompt, draw.Uint64()); err != nil {
		return turn, false, err
	}
	seq.Record(prompt, text, turn.Response, p.Action(turn.Response), turn.Stop == experience.StopStop)
	return turn, continues, nil
}

// sample asks for one answer to a prompt.
func (p *Policy) sample(ctx context.Context, prompt []int32, seed uint64) (experience.Turn, error) {
	params := tinker.DefaultSampling()
	params.MaxTokens, params.Temperature, params.Seed = p.MaxTokens, p.Temperature, &seed
	if left := p.Context - len(prompt); p.Context > 0 {
		if left <= 0 {
			return experience.Turn{},
				tinker.Userf("gem: a prompt of %d tokens leaves no room for an answer in the context of %d; "+
					"shorten what the observations tell", len(prompt), p.Context)
		}
		params.MaxTokens = min(params.MaxTokens, left)
	}
	req := tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1, Params: params}
	res, err := tinker.Sample(ctx, p.Sampler, req)
	if err != nil {
		return experience.Turn{}, err
	}
	if len(res.Sequences) != 1 || len(res.Sequences[0].Tokens) == 0 || len(res.Sequences[0].Logprobs) != len(
		res.Sequences[0].Tokens) {
		return experience.Turn{}, errors.New("gem: the sampler returned no answer with logprobs")
	}
	q := res.Sequences[0]
	return experience.Turn{Prompt: prompt, Response: q.Tokens, Logprobs: q.Logprobs,
		Stop: experience.StopReason(q.StopReason)}, nil
}

// Action returns what the environment is told: the answer without the tokens that only mark its end, which the seed
// leaves in.
func (p *Policy) Action(answer []int32) string { return p.Tokens.Decode(answer, true) }
