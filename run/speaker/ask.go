package speaker

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Asker is a studio.Asker. It starts the engine at the first question and stops it when there have been none for a
// while. It has one set of weights at a time.
type Asker struct {
	o Options // but for the model

	mu      sync.Mutex // held while it answers
	weights studio.Weights
	speaker *Speaker // nil: the engine is stopped
	dir     string
	idle    *time.Timer
}

// NewAsker makes an Asker. The model of the options is not used: a question names its own.
func NewAsker(o Options) *Asker {
	o.Note = io.Discard
	return &Asker{o: o}
}

// askIdle is how long the engine waits for another question.
const askIdle = 5 * time.Minute

// open makes the engine serve weights.
func (a *Asker) open(ctx context.Context, w studio.Weights) (*Speaker, error) {
	if a.idle != nil {
		a.idle.Stop()
	}
	a.idle = time.AfterFunc(askIdle, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stop()
	})
	if a.speaker != nil && a.weights == w {
		return a.speaker, nil
	}
	if err := a.stop(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "trinity-studio-")
	if err != nil {
		return nil, err
	}
	o := a.o
	o.Model = cmp.Or(w.Checkpoint, w.Model)
	s, _, err := Open(ctx, o, dir, w.Job)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	a.speaker, a.dir, a.weights = s, dir, w
	return s, nil
}

// stop stops the engine.
func (a *Asker) stop() error {
	if a.speaker == nil {
		return nil
	}
	err := errors.Join(a.speaker.Engine.Close(), os.RemoveAll(a.dir))
	a.speaker = nil
	return err
}

// Close stops the engine for good.
func (a *Asker) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.idle != nil {
		a.idle.Stop()
	}
	return a.stop()
}

// Ask implements studio.Asker.
func (a *Asker) Ask(ctx context.Context, q studio.Question, drawn func(studio.Drawn) error) (studio.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.open(ctx, q.Weights)
	if err != nil {
		return studio.Answer{}, err
	}
	prompt, err := promptOf(s, q)
	if err != nil {
		return studio.Answer{}, err
	}
	p := tinker.DefaultSampling()
	p.Temperature, p.Seed, p.MaxTokens = q.Temperature, q.Seed, min(q.MaxTokens, s.Context-len(prompt))
	if p.MaxTokens < 1 {
		return studio.Answer{}, tinker.Userf("studio: the prompt has %d tokens and the model's context is %d",
			len(prompt), s.Context)
	}
	ctx, cancel := context.WithCancel(ctx) // what is not read any more need not be drawn
	defer cancel()
	stream, err := tinker.OpenStream(ctx, s.Client, tinker.SampleRequest{Prompt: tinker.Text(prompt), Params: p,
		TopKSampleLogprobs: 5})
	if err != nil {
		return studio.Answer{}, err
	}
	return follow(ctx, s, stream, drawn)
}

// follow hands a stream's tokens on.
func follow(ctx context.Context, s *Speaker, stream *tinker.Stream, drawn func(studio.Drawn) error) (said studio.Answer,
	err error) {
	var tokens []int32
	for {
		some, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			said.Text = s.Tokenizer.Decode(tokens, true)
			return said, nil
		}
		if err != nil {
			return said, err
		}
		for _, d := range some {
			tokens = append(tokens, d.Token)
			said.Stop = string(d.Stop)
			one := studio.Drawn{ID: d.Token, Logprob: float64(d.Logprob), Likely: likeliest(d.Top)}
			if err := drawn(one); err != nil {
				return said, err
			}
		}
	}
}

func likeliest(top []tinker.TokenLogprob) []studio.Alternative {
	list := make([]studio.Alternative, len(top))
	for i, t := range top {
		list[i] = studio.Alternative{ID: t.Token, Logprob: float64(t.Logprob)}
	}
	return list
}

// promptOf is the tokens of a question.
func promptOf(s *Speaker, q studio.Question) ([]int32, error) {
	switch {
	case len(q.Tokens) > 0:
		return q.Tokens, nil
	case len(q.Messages) == 0:
		return s.Tokenizer.Encode(q.Prompt, false), nil
	case s.Template == nil:
		return nil, errors.New("studio: the model has no chat template, so it cannot be asked with messages; edit " +
			"the text instead")
	}
	last := q.Messages[len(q.Messages)-1].Role
	options := chat.Options{AddGenerationPrompt: last != "assistant", ContinueFinal: last == "assistant"}
	return s.Template.Encode(s.Tokenizer, chatMessages(q.Messages), options)
}

func chatMessages(list []rollout.Message) []chat.Message {
	out := make([]chat.Message, len(list))
	for i, m := range list {
		out[i] = chat.Message{Role: m.Role, Content: m.Content}
		if m.Thinking != "" {
			out[i].Content = "<think>" + m.Thinking + "</think>" + m.Content
		}
	}
	return out
}

// Score implements studio.Asker.
func (a *Asker) Score(ctx context.Context, w studio.Weights, tokens []int32, k int) ([]studio.Scored, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.open(ctx, w)
	if err != nil {
		return nil, err
	}
	p := tinker.DefaultSampling()
	p.MaxTokens = 1
	res, err := tinker.Sample(ctx, s.Client, tinker.SampleRequest{Prompt: tinker.Text(tokens), NumSamples: 1, Params: p,
		PromptLogprobs: true, TopKPromptLogprobs: k})
	if err != nil {
		return nil, err
	}
	out := make([]studio.Scored, len(tokens))
	for i := range out {
		if i < len(res.PromptLogprobs) {
			out[i].Logprob = float64(res.PromptLogprobs[i])
		}
		if i < len(res.TopKPromptLogprobs) {
			out[i].Likely = likeliest(res.TopKPromptLogprobs[i])
		}
	}
	return out, nil
}
