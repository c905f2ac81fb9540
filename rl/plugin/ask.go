package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// asking are the arguments of a call back to the model.
type asking struct {
	Messages    json.RawMessage `json:"messages"`
	Tools       json.RawMessage `json:"tools"`
	Prompts     []string        `json:"prompts"`
	Tokens      int32s          `json:"tokens"`
	Temperature *float64        `json:"temperature"`
	Auxiliary   *int            `json:"auxiliary"`
	Params      json.RawMessage `json:"params"`
	Nth         int             `json:"nth"`  // how often the same was asked before
	From        int             `json:"from"` // how many of the calls at the run's URL are known

	given params
}

// params are the sampling parameters that a workflow may give.
type params struct {
	N           *int            `json:"n"`
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	TopK        *int            `json:"top_k"`
	MinP        *float64        `json:"min_p"`
	MaxTokens   *int            `json:"max_tokens"`
	Completion  *int            `json:"max_completion_tokens"`
	Stop        json.RawMessage `json:"stop"`
	Tools       json.RawMessage `json:"tools"`
	Thinking    *bool           `json:"enable_thinking"`
}

// sampling are the parameters of a request: the configuration's, overridden by the workflow's.
func (s *session) sampling(p *params) (tinker.SamplingParams, int, error) {
	out, n := s.r.Params, 1
	set(&out.Temperature, p.Temperature)
	set(&out.TopP, p.TopP)
	set(&out.TopK, p.TopK)
	set(&out.MinP, p.MinP)
	set(&out.MaxTokens, p.MaxTokens)
	set(&out.MaxTokens, p.Completion)
	set(&n, p.N)
	switch {
	case n < 1:
		return out, 0, fmt.Errorf("n is %d; it must be at least 1", n)
	case out.Temperature < 0:
		return out, 0, fmt.Errorf("temperature is %v; it must be at least 0", out.Temperature)
	case out.MaxTokens < 0:
		return out, 0, fmt.Errorf("max_tokens is %d; it must be at least 1", out.MaxTokens)
	}
	out.TopK = cmp.Or(out.TopK, -1)
	var one string
	if len(p.Stop) == 0 || string(p.Stop) == "null" {
		return out, n, nil
	}
	if json.Unmarshal(p.Stop, &one) == nil {
		out.StopStrings = []string{one}
	} else if err := json.Unmarshal(p.Stop, &out.StopStrings); err != nil {
		return out, 0, fmt.Errorf("stop is %s; it must be a text or a list of texts", p.Stop)
	}
	return out, n, nil
}

func set[T any](to *T, v *T) {
	if v != nil {
		*to = *v
	}
}

// renderer is a model's chat template with all its options; behind OpenAI's interface there is none.
type renderer interface {
	Render(messages []chat.Message, o chat.Options) (string, []int32, error)
}

// render renders a conversation, as a prompt if the model is to continue it.
func (s *session) render(a *asking, prompt bool) (string, []int32, error) {
	messages, err := endpoint.ReadMessages(a.Messages)
	if err != nil {
		return "", nil, err
	}
	o := chat.Options{AddGenerationPrompt: prompt, EnableThinking: a.given.Thinking}
	if last := messages[len(messages)-1]; prompt && last.Role == "assistant" {
		o.AddGenerationPrompt, o.ContinueFinal = false, true
	}
	if o.Tools, err = a.tools(); err != nil {
		return "", nil, err
	}
	full, ok := s.r.Renderer.(renderer)
	switch {
	case ok:
		return full.Render(messages, o)
	case !prompt || o.Tools != nil:
		return "", nil, errors.New("a model behind OpenAI's interface shows neither its tokens nor its template")
	}
	return s.r.Renderer.Prompt(messages)
}

func (a *asking) tools() (jinja.List, error) {
	raw := a.Tools
	if len(raw) == 0 {
		raw = a.given.Tools
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	v, err := jinja.DecodeJSON(raw)
	list, ok := v.(jinja.List)
	if err != nil || !ok {
		return nil, errors.New("tools must be a list of JSON schemas")
	}
	return list, nil
}

// chat answers a conversation.
func (s *session) chat(ctx context.Context, a *asking) (any, error) {
	text, whole, err := s.render(a, true)
	if err != nil {
		return nil, err
	}
	prompt, err := s.continued(text, whole)
	if err != nil {
		return nil, err
	}
	return s.sample(ctx, a, text, prompt, s.seedOf(a, prompt, 0))
}

// continued are the ids of a prompt. If it continues a conversation that was sampled here, they begin with the sampled
// ids: of the answers whose text it begins with, the longest, and the first of several.
func (s *session) continued(text string, whole []int32) ([]int32, error) {
	best := s.longest(text)
	if best == nil {
		return whole, nil
	}
	ids, _, err := best.sequence().Next(text, s.r.Renderer.Encode)
	return ids, err
}

func (s *session) longest(text string) (best *record) {
	for _, r := range s.known() {
		n := len(r.text) + len(r.heard)
		if r.mask != nil || r.cut || len(r.text) == 0 || len(text) < n || best != nil &&
			n <= len(best.text)+len(best.heard) {
			continue
		}
		if text[:len(r.text)] == r.text && text[len(r.text):n] == r.heard {
			best = r
		}
	}
	return best
}

func (r *record) sequence() *chat.Sequence {
	return &chat.Sequence{Tokens: r.tokens(), Text: r.text + r.heard, Ended: r.stop == tinker.StopStop}
}

// generate continues plain texts, each with the same parameters.
func (s *session) generate(ctx context.Context, a *asking) (any, error) {
	prompts, seeds := make([][]int32, len(a.Prompts)), make([]uint64, len(a.Prompts))
	for i, text := range a.Prompts {
		ids, err := s.r.Renderer.Encode(text)
		if err != nil {
			return nil, err
		}
		prompts[i], seeds[i] = ids, s.seedOf(a, ids, i)
	}
	parts := make([][]answer, len(prompts))
	g, ctx := errgroup.WithContext(ctx)
	for i := range prompts {
		g.Go(func() (err error) {
			parts[i], err = s.sample(ctx, a, a.Prompts[i], prompts[i], seeds[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	list := []answer{}
	for _, p := range parts {
		list = append(list, p...)
	}
	return list, nil
}

// sample asks the model and records the answers.
func (s *session) sample(ctx context.Context, a *asking, text string, prompt []int32, seed uint64) ([]answer, error) {
	p, n, err := s.sampling(&a.given)
	if err != nil {
		return nil, err
	}
	if cut, err := s.r.CheckPrompt(fmt.Sprintf("the prompt of a call in row %d", s.task.Index), prompt); cut != nil {
		return s.masked(text, cut, n), nil
	} else if err != nil {
		return nil, err
	}
	p.Seed = &seed
	res, capped, err := s.r.Ask(ctx, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: n, Params: p})
	if err != nil {
		return nil, err
	}
	list := make([]answer, 0, n)
	for _, q := range res.Sequences {
		r := &record{text: text, heard: s.r.Renderer.Decode(q.Tokens), prompt: prompt, sampled: q.Tokens,
			logprobs: q.Logprobs, stop: q.StopReason, capped: capped && q.StopReason == tinker.StopLength}
		s.keep(r)
		list = append(list, r.answer())
	}
	return list, nil
}

// masked are answers to a prompt that is too long: nothing is sampled, and nothing is trained.
func (s *session) masked(text string, cut []int32, n int) (list []answer) {
	last := len(cut) - 1
	for range n {
		r := &record{text: text, heard: "[prompt truncated: nothing was sampled]", prompt: cut[:last],
			sampled: cut[last:], logprobs: []float32{0}, mask: []bool{false}, cut: true}
		s.keep(r)
		list = append(list, r.answer())
	}
	return list
}

// answer is the record as Python gets it.
func (r *record) answer() answer {
	a := answer{Ref: r.ref, Tokens: r.tokens(), Logprobs: r.logprobs, Mask: r.mask, Prompt: len(r.prompt),
		Text: r.text, Heard: r.heard}
	switch {
	case r.cut:
		a.Truncate = string(experience.PromptTruncated)
	case r.stop == tinker.StopLength:
		a.Truncate = string(experience.ResponseTruncated)
	}
	return a
}

// scores are the logprobs of tokens, each but the first.
func (s *session) scores(ctx context.Context, a *asking) (any, error) {
	if t := a.Temperature; t != nil && *t != 1 {
		return nil, fmt.Errorf("logprobs are those at temperature 1 here, and temperature is %v", *t)
	}
	got, err := s.logprobs(ctx, a.Tokens)
	return map[string]any{"logprobs": float32s(got)}, err
}

// logprobs asks the weights of the step for the logprobs of tokens, each but the first. They are the same bits as those
// of sampling, and as the trainer's.
func (s *session) logprobs(ctx context.Context, tokens []int32) ([]float32, error) {
	if len(tokens) < 2 {
		return []float32{}, nil
	}
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Seed = 1, &s.seed
	if c := s.r.Context; c > 0 && len(tokens) >= c {
		return nil, fmt.Errorf("the %d tokens of a conversation do not fit into the context of %d", len(tokens), c)
	}
	res, err := tinker.Sample(ctx, s.r.Sampler, tinker.SampleRequest{Prompt: tinker.Text(tokens), NumSamples: 1,
		Params: p, PromptLogprobs: true})
	if err != nil {
		return nil, fmt.Errorf("logprobs: %w", err)
	}
	if len(res.PromptLogprobs) != len(tokens) {
		return nil, fmt.Errorf("the service gave %d logprobs for %d tokens", len(res.PromptLogprobs), len(tokens))
	}
	return res.PromptLogprobs[1:], nil
}
