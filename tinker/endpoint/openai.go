// Package endpoint answers OpenAI's HTTP interface (chat completions, completions, responses, models), Anthropic's
// (messages) and vLLM's routes for tokens (tokenize, detokenize, generate) from any tinker.SamplingClient. The
// program that mounts it authenticates the caller, reads the body, and finds the model of a name (Models).
//
// The life of a request: the parameters are taken out of the body one by one, and one that is left is refused by name
// (fields.go, params.go). The prompt is rendered (chat.go, message.go) or encoded (completion.go). The samples come as
// a stream or as a whole (answer.go); both go through the same steps: tokens become text, which ends before a stop
// string (speech.go), and a chat's text is divided into thoughts, content and tool calls (split.go). So a stream and a
// whole answer say the same. Messages (anthropic.go) and responses (responses.go) are translated into chats first, and
// each interface puts the answer into JSON of its own (form.go).
//
// Logprobs are of the model's own distribution at temperature 1, with the 32 bits that the sampler computed, on every
// route; where the request asks for a form of the answer, a bias or penalties (shape.go), of what these leave.
// Sampling follows the request alone: a model's generation_config.json is not read.
//
// The interfaces are OpenAI's (https://platform.openai.com/docs/api-reference) and Anthropic's
// (https://docs.anthropic.com/en/api); parameters that vLLM added (top_k, min_p, stop_token_ids, return_token_ids and
// others) have vLLM's meaning (https://docs.vllm.ai).
package endpoint

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Models finds the models of a tenant. It is safe for concurrent use.
type Models interface {
	// Open returns the model that a tenant means by a name. The caller calls its Close. A name that means nothing to
	// this tenant is ErrNotFound. The name is "" if a request has none.
	Open(ctx context.Context, tenant, name string) (*Model, error)
	// List returns the models that the tenant can name.
	List(ctx context.Context, tenant string) ([]Card, error)
}

// Model is a model during one request.
type Model struct {
	Text    *Text
	Context int // tokens of prompt and answer together
	Sampler tinker.SamplingClient
	Close   func()
	Name    string // as answers have it; "": the name that the request has
	Keeper  Keeper // of this request; nil: nothing is kept
}

// Card describes a model in the list.
type Card struct {
	ID      string
	Created time.Time // zero: unknown
	Context int       // tokens
	Parent  string    // the base model of a checkpoint
	Kind    string    // "base" or "sampler"
	Size    int64     // bytes of its files; 0: unknown
	Until   time.Time // when a model in memory leaves it if nothing uses it; zero: when others need the memory
}

// Text is the text side of a model. It does not change. What is done with it is bounded during a request (bound.go).
type Text struct {
	Tokenizer *tokenizer.Tokenizer
	Template  *chat.Template // nil: the model has none, and chats are refused
	Ends      []int32        // tokens that end an answer
	Config    map[string]any // tokenizer_config.json, with the chat template; nil if there is none

	lexicon  *lexicon   // nil: it is made for each request
	Thinking *bool      // enable_thinking of the template if a request has none; nil: the template's default
	context  int        // of the model, during a request; 0: not bounded
	share    *web.Share // of the request

	Plain bool // completions have the tokens of their text alone, unless a request sets add_special_tokens
}

// LoadText reads tokenizer and chat template from a model's folder. The end tokens are the template's and ends.
func LoadText(dir string, ends []int32, date time.Time) (*Text, error) {
	tok, err := tokenizer.Load(dir)
	if err != nil {
		return nil, err
	}
	conf, err := tokenizer.LoadConfig(dir)
	if err != nil {
		return nil, err
	}
	t := &Text{Tokenizer: tok, Ends: ends, lexicon: &lexicon{}}
	if t.Config, err = tokenizerConfig(dir, conf.ChatTemplate); err != nil {
		return nil, err
	}
	if conf.ChatTemplate == "" {
		return t, nil
	}
	if t.Template, err = chat.New(conf.ChatTemplate, conf, date); err != nil {
		return nil, err
	}
	own, err := t.Template.StopIDs(tok)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	t.Ends = append(own, ends...)
	return t, nil
}

// API answers requests. Make one with New.
type API struct {
	models Models
	now    func() time.Time
	pacer  *pacer
}

// New returns an API over the models. now is the clock of answers.
func New(m Models, now func() time.Time) *API { return &API{models: m, now: now, pacer: &pacer{}} }

// newID returns a name that cannot be guessed.
func newID(prefix string) string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}

// Error is an error as clients read it.
type Error = param.Error

// ErrorOf returns err in OpenAI's form.
func ErrorOf(err error) *Error { return param.ErrorOf(err) }
