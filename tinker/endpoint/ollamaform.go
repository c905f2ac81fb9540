package endpoint

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/event"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// ollamaForm is Ollama's form of an answer: lines of JSON, the last of which is done and has the counts and times.
type ollamaForm struct {
	times *timedModels
	now   func() time.Time
	key   string // message of a chat, response of a prompt
	last  string // finish_reason
}

// head is the beginning of each line.
func (o *ollamaForm) head(model string) param.Object {
	return param.Object{"model": model, "created_at": o.now().UTC().Format(time.RFC3339Nano), "done": false}
}

// put puts a part of the answer into a line.
func (o *ollamaForm) put(b param.Object, p speech.Part) {
	to := b
	if o.key == "message" {
		to = param.Object{"role": "assistant", "content": p.Content}
		b["message"] = to
	} else {
		b["response"] = p.Content
	}
	if p.Reasoning != "" {
		to["thinking"] = p.Reasoning
	}
	calls := make([]any, len(p.Calls))
	for i, c := range p.Calls {
		calls[i] = param.Object{"function": param.Object{"name": c.Name, "arguments": json.RawMessage(c.Arguments)}}
	}
	if len(calls) > 0 {
		to["tool_calls"] = calls
	}
}

// finish makes a line the last one. Durations are in nanoseconds.
func (o *ollamaForm) finish(b param.Object, u usage) param.Object {
	b["done"], b["done_reason"] = true, string(tinker.StopStop)
	if o.last == string(tinker.StopLength) {
		b["done_reason"] = o.last
	}
	o.times.put(b)
	b["prompt_eval_count"], b["eval_count"] = u.prompts, u.answers
	return b
}

func (o *ollamaForm) whole(a *answer, pieces []piece, _ []tinker.SampleResponse, u usage) param.Object {
	b := o.head(a.request.model)
	o.put(b, pieces[0].Part)
	o.last = pieces[0].finish
	return o.finish(b, u)
}

func (o *ollamaForm) begin(*answer, *event.Events) error { return nil }

func (o *ollamaForm) piece(a *answer, e *event.Events, p *piece) error {
	if p.finish != "" {
		o.last = p.finish
	}
	if p.Part.Empty() {
		return nil
	}
	b := o.head(a.request.model)
	o.put(b, p.Part)
	return e.Line(b)
}

func (o *ollamaForm) end(a *answer, e *event.Events, u usage) {
	b := o.head(a.request.model)
	o.put(b, speech.Part{})
	_ = e.Line(o.finish(b, u))
}

func (o *ollamaForm) fail(_ *answer, e *event.Events, err error) {
	_ = e.Line(param.ErrorOf(err).Ollama())
}

// timedModels opens the model of one request and records its times.
type timedModels struct {
	Models
	context int // tokens, of the model
	begun   time.Time

	mu                           sync.Mutex
	opened, sampled, first, last time.Time
}

// Open implements Models.
func (t *timedModels) Open(ctx context.Context, tenant, name string) (*Model, error) {
	m, err := t.Models.Open(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	t.opened, t.context = time.Now(), m.Context
	m.Sampler = &timedSampler{m.Sampler, t}
	return m, nil
}

// put puts the times into the last line, in nanoseconds.
func (t *timedModels) put(b param.Object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b["total_duration"] = time.Since(t.begun).Nanoseconds()
	b["load_duration"] = t.opened.Sub(t.begun).Nanoseconds()
	b["prompt_eval_duration"] = t.first.Sub(t.sampled).Nanoseconds()
	b["eval_duration"] = t.last.Sub(t.first).Nanoseconds()
}

// timedSampler records when tokens come.
type timedSampler struct {
	tinker.SamplingClient
	times *timedModels
}

var _ tinker.Streamer = (*timedSampler)(nil)

// Sample implements tinker.SamplingClient.
func (s *timedSampler) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	stream, err := s.Stream(ctx, req)
	if err != nil {
		return nil, err
	}
	return stream.Result(), nil
}

// Stream implements tinker.Streamer.
func (s *timedSampler) Stream(ctx context.Context, req tinker.SampleRequest) (*tinker.Stream, error) {
	t := s.times
	t.sampled = time.Now()
	stream, err := tinker.OpenStream(ctx, s.SamplingClient, req)
	if err == nil {
		stream.Follow(func(tinker.Drawn) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.last = time.Now(); t.first.IsZero() {
				t.first = t.last
			}
		})
	}
	return stream, err
}
