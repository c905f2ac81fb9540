package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// stream sends the samples as server-sent events while they are drawn. Once it has begun, an error is sent as an event
// and not returned.
func (a *answer) stream(ctx context.Context, w http.ResponseWriter) error {
	ctx, cancel := context.WithCancel(ctx)
	var streams []*tinker.Stream
	defer func() { // the model's weights are in use until then
		cancel()
		for _, s := range streams {
			<-s.Result().Done()
		}
	}()
	for _, p := range a.prompts {
		s, err := tinker.OpenStream(ctx, a.model.Sampler, a.sample(p))
		if err != nil {
			return err
		}
		streams = append(streams, s)
	}
	e := newEvents(w)
	a.tail = a.chunkTail()
	if a.form.begin(a, e) != nil {
		return nil // the client is gone
	}
	var mu sync.Mutex
	var u usage
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range streams {
		g.Go(func() error {
			n, err := a.follow(ctx, s, i, e)
			if err != nil {
				return err
			}
			res, err := s.Result().Wait(ctx)
			mu.Lock()
			defer mu.Unlock()
			u.prompt(len(a.prompts[i].tokens), res)
			u.answers += n
			return err
		})
	}
	if err := g.Wait(); err != nil {
		a.form.fail(a, e, err)
		return nil
	}
	a.form.end(a, e, u)
	return nil
}

// begin sends the first event of each choice: the role of a chat's message, or the prompt that is echoed.
func (a *answer) begin(e *events) error {
	for i := range len(a.prompts) * a.n {
		from := &a.prompts[i/a.n]
		c := object{"index": i, "logprobs": nil, "finish_reason": nil}
		switch {
		case a.chat != nil:
			c["delta"] = object{"role": "assistant", "content": ""}
		case a.echo:
			c["text"] = from.text
		case a.tokenIDs:
			c["text"] = ""
		default:
			continue
		}
		b := a.chunk(c)
		if a.tokenIDs && a.chat == nil {
			c["prompt_token_ids"] = from.tokens
		}
		if a.tokenIDs && len(a.prompts) == 1 && i == 0 {
			b["prompt_token_ids"] = from.tokens
		}
		if err := e.send(b); err != nil {
			return err
		}
	}
	return nil
}

// follow sends the samples of prompt number i and returns the number of their tokens.
func (a *answer) follow(ctx context.Context, s *tinker.Stream, i int, e *events) (tokens int, err error) {
	f := follower{answer: a, events: e, left: a.n}
	for j := range a.n {
		f.choices = append(f.choices, newChoice(a.request, a.model.Text, i*a.n+j))
	}
	pace := a.pacer.begin()
	defer pace.end()
	some, err := f.first(ctx, s)
	for ; ; some, err = pace.next(ctx, s) {
		if errors.Is(err, io.EOF) {
			return f.tokens, a.finish(ctx, s, i, e, f.ends)
		}
		if err != nil {
			return f.tokens, err
		}
		pace.sent = time.Now()
		if err := f.send(some); err != nil {
			return f.tokens, err
		}
	}
}

// follower sends the samples of one prompt.
type follower struct {
	*answer
	events  *events
	choices []*choice
	left    int     // samples without an end
	ends    []piece // held back until the answers are recorded
	tokens  int     // of all samples
}

// beginSoon is the longest time for which an answer's first bytes wait for its first token, to leave together.
const beginSoon = 10 * time.Millisecond

// first waits for the first tokens. If they take long, the client has the headers and the first events before them.
func (f *follower) first(ctx context.Context, s *tinker.Stream) ([]tinker.Drawn, error) {
	soon, cancel := context.WithTimeout(ctx, beginSoon)
	defer cancel()
	some, err := s.Next(soon)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return some, err
	}
	if err := f.events.flush(); err != nil {
		return nil, err
	}
	return s.Next(ctx)
}

// send sends what some tokens add to the samples.
func (f *follower) send(some []tinker.Drawn) error {
	// the tokens of each sample together, in their order
	slices.SortStableFunc(some, func(x, y tinker.Drawn) int { return x.Sample - y.Sample })
	for len(some) > 0 {
		own := some[:ofFirst(some)]
		some = some[len(own):]
		p := f.choices[own[0].Sample].take(own)
		f.tokens += len(p.drawn)
		if p.finish != "" {
			f.left--
		}
		if p.finish != "" && f.model.Keeper != nil {
			p.drawn = slices.Clone(p.drawn)
			f.ends = append(f.ends, p)
			continue
		}
		if err := f.form.piece(f.answer, f.events, &p); err != nil {
			return err
		}
	}
	if f.left == 0 && len(f.prompts) == 1 {
		return nil // the answer's end follows and leaves with this
	}
	return f.events.flush()
}

// finish records the answers to prompt number i and then sends their ends.
func (a *answer) finish(ctx context.Context, s *tinker.Stream, i int, e *events, ends []piece) error {
	res, err := s.Result().Wait(ctx)
	if err != nil {
		return err
	}
	if err := a.record(ctx, i, &res); err != nil {
		return err
	}
	for j := range ends {
		if err := a.form.piece(a, e, &ends[j]); err != nil {
			return err
		}
	}
	return nil
}

// ofFirst is the number of tokens at the beginning that are of the same sample.
func ofFirst(some []tinker.Drawn) int {
	n := 1
	for n < len(some) && some[n].Sample == some[0].Sample {
		n++
	}
	return n
}

// sendPiece sends what some tokens add, if that is anything.
func (a *answer) sendPiece(e *events, p *piece) error {
	if p.part.empty() && p.finish == "" && !a.logprobs && !a.tokenIDs {
		return nil
	}
	return e.append(func(b []byte) ([]byte, error) { return a.appendChunk(b, p) })
}

// delta is what a piece adds to the message of an assistant.
func (p *piece) delta() object {
	d := object{}
	if p.reasoning != "" {
		d["reasoning_content"] = p.reasoning
	}
	if p.content != "" {
		d["content"] = p.content
	}
	if len(p.calls) > 0 {
		d["tool_calls"] = p.toolCalls(true)
	}
	return d
}

// chunk is an event with one choice.
func (a *answer) chunk(choice object) object {
	b := a.head(".chunk")
	b["choices"] = []any{choice}
	if a.usage {
		b["usage"] = nil
	}
	return b
}

// events writes server-sent events (WHATWG HTML, 9.2). They leave with the next flush, or when the request's handler
// returns, so that events of one moment share a system call. Its methods may be called concurrently.
type events struct {
	mu sync.Mutex
	w  http.ResponseWriter
	rc *http.ResponseController

	buf []byte // of append
}

func newEvents(w http.ResponseWriter) *events {
	h := w.Header()
	if h.Get("Content-Type") == "" { // Ollama's streams are lines
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx passes events on at once
	w.WriteHeader(http.StatusOK)
	return &events{w: w, rc: http.NewResponseController(w)}
}

// named sends one JSON value as an event of a kind.
func (e *events) named(kind string, v object) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write("event: " + kind + "\ndata: " + string(raw) + "\n\n")
}

// send sends one JSON value. Its text has no newline, so that it is one line of the event.
func (e *events) send(v object) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.write("data: " + string(raw) + "\n\n")
}

func (e *events) write(event string) error {
	return e.append(func(b []byte) ([]byte, error) { return append(b, event...), nil })
}

// append writes what f appends to a buffer, as one.
func (e *events) append(f func([]byte) ([]byte, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	if e.buf, err = f(e.buf[:0]); err != nil {
		return err
	}
	_, err = e.w.Write(e.buf)
	return err
}

func (e *events) flush() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rc.Flush()
}

// done ends the events.
func (e *events) done() { _ = e.write("data: [DONE]\n\n") }
