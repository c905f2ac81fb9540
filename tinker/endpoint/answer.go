package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/event"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// answer is one answer to a client.
type answer struct {
	*request
	model   *Model
	id      string
	created int64
	pacer   *pacer
	tail    []byte // of a stream's events
}

// Chat answers POST chat/completions with that body for a tenant. The error is of a request that has got no answer yet;
// ErrorOf gives it its form.
func (a *API) Chat(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.serve(ctx, w, tenant, body, readChat, "chatcmpl-")
}

// Complete answers POST completions, as Chat does for chats.
func (a *API) Complete(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.serve(ctx, w, tenant, body, readCompletion, "cmpl-")
}

// serve reads a request, samples and answers.
func (a *API) serve(ctx context.Context, w http.ResponseWriter, tenant string, body []byte,
	read func(param.Fields, *Text) (*request, error), prefix string) error {
	out, err := a.read(ctx, w.Header(), tenant, body, read, prefix)
	if err != nil {
		return err
	}
	defer out.model.Close()
	if out.request.stream {
		return out.stream(ctx, w)
	}
	return out.whole(ctx, w)
}

// read reads a request as far as it can be sampled.
func (a *API) read(ctx context.Context, h http.Header, tenant string, body []byte,
	read func(param.Fields, *Text) (*request, error), prefix string) (out *answer, err error) {
	o, err := a.open(ctx, tenant, body)
	if err != nil {
		return nil, err
	}
	f, m := o.fields, o.model
	defer func() {
		if o.done(); err != nil {
			m.Close()
		}
	}()
	given := namesOf(f)
	r, err := read(f, m.Text)
	if err != nil {
		return nil, err
	}
	if err := f.Rest(); err != nil {
		return nil, err
	}
	r.model, r.unique = cmp.Or(m.Name, o.name), newID("")
	if r.form == nil {
		r.form = openaiForm{}
	}
	out = &answer{request: r, model: m, id: prefix + r.unique, created: a.now().Unix(), pacer: a.pacer}
	if err := out.settle(given, h); err != nil {
		return nil, err
	}
	if len(r.notes) > 0 {
		h.Set(noteOf, strings.Join(r.notes, "; "))
	}
	if err := r.fit(m.Context); err != nil {
		return nil, err
	}
	return out, r.shape.match(m.Text, r.chat, &r.params)
}

// open reads a body and opens the model that it names.
func (a *API) open(ctx context.Context, tenant string, body []byte) (*opened, error) {
	return open(ctx, body, func(name string) (*Model, error) {
		m, err := a.models.Open(ctx, tenant, name)
		if name == "" && errors.Is(err, tinker.ErrNotFound) {
			err = param.Invalid("model", "model is missing; GET models lists the names")
		}
		return m, err
	})
}

// whole waits for all samples and sends them as one JSON object.
func (a *answer) whole(ctx context.Context, w http.ResponseWriter) error {
	ctx, cancel := context.WithCancel(ctx)
	var futures []*tinker.Future[tinker.SampleResponse]
	defer func() { // the model's weights are in use until then
		cancel()
		for _, f := range futures {
			<-f.Done()
		}
	}()
	for _, p := range a.prompts {
		f, err := a.model.Sampler.Sample(ctx, a.sample(p))
		if err != nil {
			return err
		}
		futures = append(futures, f)
	}
	var pieces []piece
	var results []tinker.SampleResponse
	var u usage
	for i, f := range futures {
		res, err := f.Wait(ctx)
		if err != nil {
			return err
		}
		if err := a.check(i, &res); err != nil {
			return err
		}
		if err := a.record(ctx, i, &res); err != nil {
			return err
		}
		u.prompt(len(a.prompts[i].tokens), res)
		results = append(results, res)
		for j, q := range res.Sequences {
			p := newChoice(a.request, a.model.Text, i*a.n+j).take(drawnOf(q))
			u.answers += len(p.drawn)
			pieces = append(pieces, p)
		}
	}
	param.Reply(w, http.StatusOK, a.form.whole(a, pieces, results, u))
	return nil
}

// head is the beginning of an answer and of each piece of a stream.
func (a *answer) head(suffix string) param.Object {
	kind := "text_completion"
	if a.chat != nil {
		kind = "chat.completion" + suffix
	}
	return param.Object{"id": a.id, "object": kind, "created": a.created, "model": a.request.model}
}

// choice is a whole sample as JSON.
func (a *answer) choice(p *piece, from *prompt, res *tinker.SampleResponse) param.Object {
	out := param.Object{"index": p.index, "logprobs": nil, "finish_reason": p.finish}
	if a.chat != nil {
		out["message"] = p.message()
	} else if out["text"] = p.Content; a.echo {
		out["text"] = from.text + p.Content
	}
	if a.logprobs {
		out["logprobs"] = a.details(p, from, res)
	}
	if a.tokenIDs {
		out["token_ids"] = p.ids()
		if a.chat == nil {
			out["prompt_token_ids"] = from.tokens
		}
	}
	return out
}

// details is logprobs of a piece.
func (a *answer) details(p *piece, from *prompt, res *tinker.SampleResponse) any {
	if a.chat != nil {
		return p.chatLogprobs()
	}
	if !a.echo {
		res = nil
	}
	return p.completionLogprobs(from, res)
}

// ids are the tokens of a piece.
func (p *piece) ids() []int32 {
	out := make([]int32, len(p.drawn))
	for i, d := range p.drawn {
		out[i] = d.Token
	}
	return out
}

// message is the message of an assistant, or the addition of a piece.
func (p *piece) message() param.Object {
	m := param.Object{"role": "assistant", "content": p.Content, "refusal": nil}
	if p.Reasoning != "" {
		m["reasoning_content"] = p.Reasoning
	}
	if len(p.Calls) == 0 {
		return m
	}
	if p.Content == "" {
		m["content"] = nil
	}
	m["tool_calls"] = p.toolCalls(false)
	return m
}

// toolCalls are the calls of a piece; in a stream they have their number in the message.
func (p *piece) toolCalls(numbered bool) []any {
	list := make([]any, len(p.Calls))
	for i, c := range p.Calls {
		call := param.Object{"id": fmt.Sprintf("call_%s_%d_%d", p.r.unique, p.index, p.first+i), "type": "function",
			"function": param.Object{"name": c.Name, "arguments": c.Arguments}}
		if numbered {
			call["index"] = p.first + i
		}
		list[i] = call
	}
	return list
}

// usage counts the tokens of an answer.
type usage struct{ prompts, cached, answers int }

// prompt counts a prompt, which is computed once for all its samples.
func (u *usage) prompt(tokens int, res tinker.SampleResponse) {
	u.prompts += tokens
	u.cached += res.PromptCacheHitTokens
}

func (u *usage) body() param.Object {
	return param.Object{"prompt_tokens": u.prompts, "completion_tokens": u.answers,
		"total_tokens":          u.prompts + u.answers,
		"prompt_tokens_details": param.Object{"cached_tokens": u.cached}}
}

// form is how an answer is put into JSON. A whole answer is whole. A stream is begin, piece for each piece, and end, or
// fail in place of what is left.
type form interface {
	// whole has the answer: n pieces for each prompt, each a whole sample, and the result of each prompt.
	whole(a *answer, pieces []piece, results []tinker.SampleResponse, u usage) param.Object
	begin(a *answer, e *event.Events) error
	// piece is called concurrently for the pieces of several prompts.
	piece(a *answer, e *event.Events, p *piece) error
	// end and fail send the last events. A client that is gone does not hear them.
	end(a *answer, e *event.Events, u usage)
	fail(a *answer, e *event.Events, err error)
}

// openaiForm is OpenAI's form of chats and completions.
type openaiForm struct{}

func (openaiForm) whole(a *answer, pieces []piece, results []tinker.SampleResponse, u usage) param.Object {
	choices := make([]any, len(pieces))
	for i := range pieces {
		choices[i] = a.choice(&pieces[i], &a.prompts[i/a.n], &results[i/a.n])
	}
	b := a.head("")
	b["choices"], b["usage"] = choices, u.body()
	if a.tokenIDs && len(a.prompts) == 1 {
		b["prompt_token_ids"] = a.prompts[0].tokens
	}
	return b
}

func (openaiForm) begin(a *answer, e *event.Events) error { return a.begin(e) }

func (openaiForm) piece(a *answer, e *event.Events, p *piece) error { return a.sendPiece(e, p) }

func (openaiForm) end(a *answer, e *event.Events, u usage) {
	if a.usage {
		b := a.head(".chunk")
		b["choices"], b["usage"] = []any{}, u.body()
		if e.Send(b) != nil {
			return
		}
	}
	e.Done()
}

func (openaiForm) fail(_ *answer, e *event.Events, err error) { _ = e.Send(param.ErrorOf(err).Body()) }
