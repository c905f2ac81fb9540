package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/event"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"golang.org/x/sync/errgroup"
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
	e := event.New(w)
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
func (a *answer) begin(e *event.Events) error {
	for i := range len(a.prompts) * a.n {
		from := &a.prompts[i/a.n]
		c := param.Object{"index": i, "logprobs": nil, "finish_reason": nil}
		switch {
		case a.chat != nil:
			c["delta"] = param.Object{"role": "assistant", "content": ""}
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
		if err := e.Send(b); err != nil {
			return err
		}
	}
	return nil
}

// follow sends the samples of prompt number i and returns the number of their tokens.
func (a *answer) follow(ctx context.Context, s *tinker.Stream, i int, e *event.Events) (tokens int, err error) {
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
	events  *event.Events
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
	if err := f.events.Flush(); err != nil {
		return nil, err
	}
	return s.Next(ctx)
}

// send sends the additions of some tokens to the samples.
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
	return f.events.Flush()
}

// finish records the answers to prompt number i and then sends their ends.
func (a *answer) finish(ctx context.Context, s *tinker.Stream, i int, e *event.Events, ends []piece) error {
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

// sendPiece sends a piece unless it is empty.
func (a *answer) sendPiece(e *event.Events, p *piece) error {
	if p.Part.Empty() && p.finish == "" && !a.logprobs && !a.tokenIDs {
		return nil
	}
	return e.Append(func(b []byte) ([]byte, error) { return a.appendChunk(b, p) })
}

// delta is the addition of a piece to an assistant's message.
func (p *piece) delta() param.Object {
	d := param.Object{}
	if p.Reasoning != "" {
		d["reasoning_content"] = p.Reasoning
	}
	if p.Content != "" {
		d["content"] = p.Content
	}
	if len(p.Calls) > 0 {
		d["tool_calls"] = p.toolCalls(true)
	}
	return d
}

// chunk is an event with one choice.
func (a *answer) chunk(choice param.Object) param.Object {
	b := a.head(".chunk")
	b["choices"] = []any{choice}
	if a.usage {
		b["usage"] = nil
	}
	return b
}
