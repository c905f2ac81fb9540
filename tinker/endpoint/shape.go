package endpoint

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/grammar"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// shape is what a request asks of its answers beside how tokens are drawn: a form, a bias of tokens, penalties. Its
// guide changes the distribution, so that logprobs are of what it leaves, and not for training.
type shape struct {
	name      string        // of a parameter that asks for it; "": the model's own distribution
	form      *grammar.Node // of the answer without thoughts; nil: any
	matcher   *grammar.Matcher
	begun     string // the beginning of the form that the prompt has
	penalties *penalties
}

// guideOfCalls is the name of a shape that only holds the model to a call that it was going to make. Where samples are
// trained on, it is left out; the call is begun in the prompt all the same.
const guideOfCalls = "tool_choice"

// readResponseFormat reads response_format.
func (s *shape) readResponseFormat(f param.Fields) error {
	raw, ok := f["response_format"]
	if !ok {
		return nil
	}
	delete(f, "response_format")
	var format struct {
		Type   string
		Schema struct {
			Schema json.RawMessage
		} `json:"json_schema"`
	}
	if json.Unmarshal(raw, &format) != nil {
		return param.Invalid("response_format", "response_format is %s; it must be an object", param.Brief(raw))
	}
	var err error
	switch format.Type {
	case "text":
		return nil
	case "json_object":
		s.form = grammar.Object()
	case "json_schema":
		if format.Schema.Schema == nil {
			return param.Invalid("response_format", "response_format.json_schema.schema is missing")
		}
		s.form, err = grammar.Schema(format.Schema.Schema)
	default:
		err = param.Invalid("", "type is %q; it must be text, json_object or json_schema", format.Type)
	}
	s.name = "response_format"
	return param.Within(s.name, err)
}

// rename gives the form the name that its parameter has in an interface.
func (s *shape) rename(name string) {
	if s.name == "response_format" {
		s.name = name
	}
}

// ofChat adds to the form what else an answer to a chat may be: calls, or only calls.
func (s *shape) ofChat(c *conversation) error {
	switch {
	case s.form == nil && c.called:
		if s.form = c.callForm(); s.form != nil {
			s.name, s.begun = guideOfCalls, c.begun
		}
	case s.form != nil && c.style == chat.HarmonyCalls:
		return param.Invalid(s.name, "%s is not supported for a model that answers in channels, as gpt-oss does; ask "+
			"for the form in the messages", s.name)
	case s.form == nil, c.style == chat.NoCalls:
	case c.called:
		return param.Invalid("response_format", "response_format asks for JSON and tool_choice for a call; "+
			"leave one out")
	default:
		s.form = grammar.Alt(s.form, c.callForm())
	}
	if s.form != nil && c.continued {
		return param.Invalid(s.name, "%s is there, and an assistant's message is continued; end with another role",
			s.name)
	}
	return nil
}

// match prepares the form for a model's tokens. c is nil for a completion.
func (s *shape) match(t *Text, c *conversation, params *tinker.SamplingParams) error {
	if s.form == nil {
		return nil
	}
	form := s.form
	switch {
	case c == nil:
	case c.inside:
		form = grammar.Seq(grammar.Until(speech.ThinkClose), form)
	case c.thinks && s.begun == "":
		form = grammar.Alt(form, grammar.Seq(grammar.Text(speech.ThinkOpen), grammar.Until(speech.ThinkClose), form))
	}
	switch {
	case params.NoStop:
		return param.Invalid("ignore_eos", "ignore_eos is true and %s gives the answer an end; leave one out", s.name)
	case len(t.Ends) == 0:
		return param.Invalid(s.name, "%s needs a token that ends an answer, and the model names none", s.name)
	}
	words, err := t.words()
	if err != nil {
		return param.Within(s.name, err)
	}
	s.matcher, err = grammar.New(form, words, t.Ends)
	return param.Within(s.name, err)
}

// guide is the guide of the answers to a prompt; nil for the model's own distribution.
func (s *shape) guide(prompt []int32) tinker.Guide {
	var g tinker.Guide
	if s.penalties != nil {
		g = s.penalties.guide(prompt)
	}
	switch {
	case s.matcher == nil:
		return g
	case g == nil:
		return s.matcher.Guide(s.begun)
	}
	return both{g, s.matcher.Guide(s.begun)}
}

// both is two guides, one after the other.
type both struct{ first, then tinker.Guide }

func (b both) Shape(row []float32) {
	b.first.Shape(row)
	b.then.Shape(row)
}

func (b both) After(token int32) tinker.Guide { return both{b.first.After(token), b.then.After(token)} }

// OwnDistribution is for keepers whose samples are trained on: the answers are drawn from the model's own distribution,
// or the request is refused.
func (a *Asked) OwnDistribution() error {
	if a.guided == "" || a.guided == guideOfCalls {
		a.own = true
		return nil
	}
	return param.Invalid(a.guided, "%s changes the distribution that tokens are drawn from, and the calls of a "+
		"rollout or session are for training, which needs the model's own: leave it out, and let the reward judge "+
		"the form", a.guided)
}

// lexicon is the tokens of a model as a grammar reads them, which are sorted at first use.
type lexicon struct {
	once  sync.Once
	words *grammar.Vocabulary
	err   error
}

// words are the tokens of the model as a grammar reads them.
func (t *Text) words() (*grammar.Vocabulary, error) {
	l := t.lexicon
	if l == nil {
		l = &lexicon{}
	}
	l.once.Do(func() { l.words, l.err = grammar.NewVocabulary(t.Tokenizer) })
	if l.err != nil {
		var e *param.Error
		if errors.As(l.err, &e) {
			copied := *e // errors are changed on their way
			return nil, &copied
		}
	}
	return l.words, l.err
}
