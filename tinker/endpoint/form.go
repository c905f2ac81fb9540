package endpoint

import (
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/event"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

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
