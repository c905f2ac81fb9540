package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Keeper lets the server of a model record one request and its answer, and rule how its answers
// are sampled. Prompt and then Params are called once the request is read, one call after another; Record comes last,
// and for several prompts from several goroutines.
type Keeper interface {
	// Prompt returns the ids of a prompt's text. encode gives the ids of a text or of a part of it. A prompt that the
	// request gives as ids is not asked about.
	Prompt(text string, encode func(string) ([]int32, error)) ([]int32, error)
	// Params may change how the answers are sampled, or refuse the request. It returns the names of the parameters
	// that the request gave and that do not count, which the answer's header X-Trinity-Overrode lists.
	Params(a *Asked) (overrode []string, err error)
	// Record keeps the answers to a prompt. It is called before the client hears how they ended: before a whole answer
	// is sent, or the event with finish_reason. Without a record the client gets the error in place of that. A client
	// that is gone leaves none; ctx ends when it goes.
	Record(ctx context.Context, k Kept) error
}

// Asked is a request before it is sampled.
type Asked struct {
	ID       string // of the answer to come
	Given    []string
	Prompts  [][]int32 // read only
	N        int       // answers to each prompt
	Context  int       // tokens of prompt and answer together
	Messages []chat.Message
	Params   *tinker.SamplingParams // to be changed

	guided string // the parameter that changes the distribution; "" for none
	own    bool   // it must not
}

// Gives reports whether the request gives one of these parameters.
func (a *Asked) Gives(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(a.Given, name) })
}

// Kept is a prompt with its answers, all of them complete.
type Kept struct {
	ID        string // of the answer
	Text      string // of the prompt
	Prompt    []int32
	Sequences []tinker.SampledSequence
	Params    tinker.SamplingParams
	Messages  json.RawMessage // of a chat, as they came; nil: a completion
	Message   func(sequence int) json.RawMessage
}

// Headers of an answer.
const (
	overrode = "X-Trinity-Overrode" // parameters that do not count, since the run's do
	noteOf   = "X-Trinity-Note"     // what in the request has no effect
)

// settle lets the keeper of the model, if there is one, choose the prompts' ids and the parameters.
func (a *answer) settle(given []string, h http.Header) error {
	k := a.model.Keeper
	if k == nil {
		return nil
	}
	asked := Asked{ID: a.id, Given: given, N: a.n, Context: a.model.Context, Params: &a.params, guided: a.shape.name}
	if a.chat != nil {
		asked.Messages = a.chat.messages
	}
	for i := range a.prompts {
		p := &a.prompts[i]
		if !p.fixed {
			tokens, err := k.Prompt(p.text, a.encoder(*p))
			if err != nil {
				return err
			}
			p.tokens = tokens
		}
		asked.Prompts = append(asked.Prompts, p.tokens)
	}
	names, err := k.Params(&asked)
	if len(names) > 0 {
		h.Set(overrode, strings.Join(names, ","))
	}
	if asked.own {
		a.shape = shape{}
	}
	return err
}

// encoder returns the ids of a prompt that is encoded already, or of a part of its text.
func (a *answer) encoder(p prompt) func(string) ([]int32, error) {
	return func(part string) ([]int32, error) {
		if part == p.text {
			return p.tokens, nil
		}
		return a.model.Text.encode(part, false)
	}
}

// record keeps the answers to prompt number i.
func (a *answer) record(ctx context.Context, i int, res *tinker.SampleResponse) error {
	k := a.model.Keeper
	if k == nil || a.silent {
		return nil
	}
	if err := a.check(i, res); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // the client is gone
		return err
	}
	kept := Kept{ID: a.id, Text: a.prompts[i].text, Prompt: a.prompts[i].tokens, Sequences: res.Sequences,
		Params: a.params, Message: func(j int) json.RawMessage { return a.said(i*a.n+j, res.Sequences[j]) }}
	if a.chat != nil {
		kept.Messages = a.chat.raw
	}
	return k.Record(ctx, kept)
}

// said is answer i as a message.
func (a *answer) said(i int, q tinker.SampledSequence) json.RawMessage {
	p := newChoice(a.request, a.model.Text, i).take(drawnOf(q))
	raw, _ := json.Marshal(p.message()) // texts
	return raw
}

// check reports a result of prompt i that does not fit the request.
func (a *answer) check(i int, res *tinker.SampleResponse) error {
	if len(res.Sequences) != a.n {
		return fmt.Errorf("endpoint: the sampler returned %d samples for n %d", len(res.Sequences), a.n)
	}
	if a.echo && a.logprobs && len(res.PromptLogprobs) != len(a.prompts[i].tokens) {
		return fmt.Errorf("endpoint: the sampler returned %d logprobs for a prompt of %d tokens",
			len(res.PromptLogprobs), len(a.prompts[i].tokens))
	}
	for _, q := range res.Sequences {
		if len(q.Tokens) == 0 || len(q.Logprobs) != len(q.Tokens) {
			return fmt.Errorf("endpoint: the sampler returned %d tokens with %d logprobs", len(q.Tokens),
				len(q.Logprobs))
		}
	}
	return nil
}

// namesOf are the parameters of a body, those within sampling_params too.
func namesOf(f param.Fields) []string {
	list := slices.Sorted(maps.Keys(f))
	var inner param.Fields
	if json.Unmarshal(f["sampling_params"], &inner) == nil {
		list = append(list, slices.Sorted(maps.Keys(inner))...)
	}
	return list
}
