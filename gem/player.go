package gem

import (
	"context"
	"errors"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Player answers observations with a model. It does not change and is safe for concurrent use.
type Player struct {
	Sampler     tinker.SamplingClient
	Tokens      Tokenizer
	Template    env.Template
	MaxTokens   int
	Temperature float64 // 0 is greedy
	Seed        uint64  // of all draws
}

// Answer samples one answer to an observation. The draw is named by stream and ids.
func (p *Player) Answer(ctx context.Context, obs env.Observation, stream string, ids ...int) (experience.Turn, error) {
	prompt := p.Tokens.Encode(p.Template(obs.Prefix+obs.Text+obs.Suffix), false)
	draw := rng.New(p.Seed).Stream(stream, ids...)
	seed := draw.Uint64()
	params := tinker.DefaultSampling()
	params.MaxTokens, params.Temperature, params.Seed = p.MaxTokens, p.Temperature, &seed
	f, err := p.Sampler.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1, Params: params})
	if err != nil {
		return experience.Turn{}, err
	}
	res, err := f.Wait(ctx)
	if err != nil {
		return experience.Turn{}, err
	}
	if len(res.Sequences) != 1 || len(res.Sequences[0].Tokens) == 0 || len(res.Sequences[0].Logprobs) != len(res.Sequences[0].Tokens) {
		return experience.Turn{}, errors.New("gem: the sampler returned no answer with logprobs")
	}
	q := res.Sequences[0]
	return experience.Turn{Prompt: prompt, Response: q.Tokens, Logprobs: q.Logprobs, Stop: experience.StopReason(q.StopReason)}, nil
}

// Action is what the environment hears: the answer without the tokens that only mark its end, which the seed leaves in.
func (p *Player) Action(answer []int32) string { return p.Tokens.Decode(answer, true) }
