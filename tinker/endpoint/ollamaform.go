package endpoint

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// ollamaForm is Ollama's form of an answer: lines of JSON, the last of which is done and has the counts and times.
type ollamaForm struct {
	times *timedModels
	now   func() time.Time
	key   string // message of a chat, response of a prompt
	last  string // finish_reason
}

// head is what each line begins with.
func (o *ollamaForm) head(model string) object {
	return object{"model": model, "created_at": o.now().UTC().Format(time.RFC3339Nano), "done": false}
}

// put puts a part of the answer into a line.
func (o *ollamaForm) put(b object, p part) {
	to := b
	if o.key == "message" {
		to = object{"role": "assistant", "content": p.content}
		b["message"] = to
	} else {
		b["response"] = p.content
	}
	if p.reasoning != "" {
		to["thinking"] = p.reasoning
	}
	calls := make([]any, len(p.calls))
	for i, c := range p.calls {
		calls[i] = object{"function": object{"name": c.name, "arguments": json.RawMessage(c.arguments)}}
	}
	if len(calls) > 0 {
		to["tool_calls"] = calls
	}
}

// finish makes a line the last one. Durations are in nanoseconds.
func (o *ollamaForm) finish(b object, u usage) object {
	b["done"], b["done_reason"] = true, string(tinker.StopStop)
	if o.last == string(tinker.StopLength) {
		b["done_reason"] = o.last
	}
	o.times.put(b)
	b["prompt_eval_count"], b["eval_count"] = u.prompts, u.answers
	return b
}

func (o *ollamaForm) whole(a *answer, pieces []piece, _ []tinker.SampleResponse, u usage) object {
	b := o.head(a.request.model)
	o.put(b, pieces[0].part)
	o.last = pieces[0].finish
	return o.finish(b, u)
}

func (o *ollamaForm) begin(*answer, *events) error { return nil }

func (o *ollamaForm) piece(a *answer, e *events, p *piece) error {
	if p.finish != "" {
		o.last = p.finish
	}
	if p.part.empty() {
		return nil
	}
	b := o.head(a.request.model)
	o.put(b, p.part)
	return e.line(b)
}

func (o *ollamaForm) end(a *answer, e *events, u usage) {
	b := o.head(a.request.model)
	o.put(b, part{})
	_ = e.line(o.finish(b, u))
}

func (o *ollamaForm) fail(_ *answer, e *events, err error) { _ = e.line(ErrorOf(err).ollama()) }

// line sends one JSON value as a line.
func (e *events) line(v object) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write(string(raw) + "\n")
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
func (t *timedModels) put(b object) {
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
