package endpoint

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Limits of one request.
const (
	maxChoices = 4096 // answers
	maxTop     = 20   // of top_logprobs, as OpenAI and vLLM
	maxSalt    = 256  // bytes of cache_salt
)

// request is a request of any interface.
type request struct {
	model  string
	unique string // in the names of the answer and its tool calls
	params tinker.SamplingParams
	n      int

	stream, usage bool // usage: a last piece of the stream has it
	tokenIDs      bool
	keepSpecial   bool // special tokens are shown in the text
	logprobs      bool
	top           int  // likeliest tokens with each token
	spoken        bool // pieces tell the tokens of their content
	echo          bool
	silent        bool // max_tokens 0: nothing is generated, the prompt is only scored

	shape   shape
	notes   []string // for the answer's header: what in the request has no effect
	salt    string   // only prompts with the same salt share their computation
	form    form     // nil: OpenAI's
	prompts []prompt
	chat    *conversation // nil: plain completions
}

// prompt is one prompt of a request.
type prompt struct {
	tokens []int32
	text   string
	fixed  bool // the tokens came from the client, and the text was made of them
}

// readCommon reads the parameters that both kinds of request have.
func readCommon(f param.Fields, t *Text) (*request, error) {
	r := &request{params: tinker.DefaultSampling(), n: 1}
	if err := errors.Join(readDraw(f, &r.params), readForm(f, r), readCacheSalt(f, r),
		r.shape.readPenalties(f, t), r.shape.readResponseFormat(f)); err != nil {
		return nil, first(err)
	}
	var err error
	if r.params.StopStrings, err = readStops(f); err != nil {
		return nil, err
	}
	limited := false
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		there, err := f.Take(name, &r.params.MaxTokens)
		if err != nil {
			return nil, err
		}
		limited = limited || there
	}
	switch {
	case limited && r.params.MaxTokens < 0:
		return nil, param.Invalid("max_tokens", "max_tokens is %d; it must be 1 or more", r.params.MaxTokens)
	case limited && r.params.MaxTokens == 0:
		r.silent = true
	case r.n < 1 || r.n > maxChoices:
		return nil, param.Invalid("n", "n is %d; it must be 1 to %d", r.n, maxChoices)
	}
	ignoreEnd := false
	if _, err := f.Take("ignore_eos", &ignoreEnd); err != nil {
		return nil, err
	}
	return r, r.ends(t, ignoreEnd)
}

// readDraw reads how tokens are drawn. Without a seed, one is drawn.
func readDraw(f param.Fields, p *tinker.SamplingParams) error {
	var topK int
	seed := rand.Int64()
	_, err1 := f.Take("temperature", &p.Temperature)
	_, err2 := f.Take("top_p", &p.TopP)
	_, err3 := f.Take("top_k", &topK)
	_, err4 := f.Take("min_p", &p.MinP)
	_, err5 := f.Take("seed", &seed)
	_, err6 := f.Take("stop_token_ids", &p.StopTokens)
	if topK > 0 { // vLLM: 0 and -1 are off
		p.TopK = topK
	}
	u := uint64(seed)
	p.Seed = &u
	return errors.Join(err1, err2, err3, err4, err5, err6)
}

// readForm reads how many answers there are and how they are sent.
func readForm(f param.Fields, r *request) error {
	var options struct {
		Usage       bool `json:"include_usage"`
		Obfuscation bool `json:"include_obfuscation"`
		Continuous  bool `json:"continuous_usage_stats"`
	}
	skip := true
	_, err1 := f.Take("n", &r.n)
	_, err2 := f.Take("stream", &r.stream)
	_, err3 := f.Take("stream_options", &options)
	_, err4 := f.Take("return_token_ids", &r.tokenIDs)
	_, err5 := f.Take("skip_special_tokens", &skip)
	r.usage, r.keepSpecial = options.Usage, !skip
	var err6 error
	if options.Continuous || options.Obfuscation {
		err6 = param.Invalid("stream_options", "stream_options: only include_usage is supported; leave the others out")
	}
	return errors.Join(err1, err2, err3, err4, err5, err6)
}

// readCacheSalt reads cache_salt.
func readCacheSalt(f param.Fields, r *request) error {
	there, err := f.Take("cache_salt", &r.salt)
	if err == nil && there && (r.salt == "" || len(r.salt) > maxSalt) {
		err = param.Invalid("cache_salt", "cache_salt has %d bytes; it must have 1 to %d", len(r.salt), maxSalt)
	}
	return err
}

// ends sets the tokens that end an answer: the request's and, unless eos is ignored, the model's.
func (r *request) ends(t *Text, ignore bool) error {
	p := &r.params
	for _, id := range p.StopTokens {
		if id < 0 || int(id) >= t.Tokenizer.VocabSize() {
			return param.Invalid("stop_token_ids", "stop_token_ids has %d; the model has tokens 0 to %d", id,
				t.Tokenizer.VocabSize()-1)
		}
	}
	switch {
	case !ignore && len(p.StopTokens) > 0:
		p.StopTokens = append(slices.Clone(p.StopTokens), t.Ends...)
	case ignore && len(p.StopTokens) == 0 && len(p.StopStrings) > 0:
		return param.Invalid("ignore_eos", "ignore_eos with stop strings needs stop_token_ids too, which then replace "+
			"the model's own end")
	case ignore && len(p.StopTokens) == 0:
		p.NoStop = true
	}
	return nil
}

// first is the first of joined errors.
func first(err error) error {
	var e *param.Error
	if errors.As(err, &e) {
		return e
	}
	return err
}

// readStops reads stop: one string or a list of them.
func readStops(f param.Fields) ([]string, error) {
	raw, ok := f["stop"]
	if !ok {
		return nil, nil
	}
	delete(f, "stop")
	var one string
	var list []string
	if json.Unmarshal(raw, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(raw, &list) != nil {
		return nil, param.Invalid("stop", "stop is %s; it must be a text or a list of texts", param.Brief(raw))
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	if len(list) > param.MaxStops {
		return nil, param.Invalid("stop", "stop has %d texts; it may have %d", len(list), param.MaxStops)
	}
	return list, nil
}

// fit checks the lengths of the prompts against the model's context.
func (r *request) fit(limit int) error {
	if len(r.prompts)*r.n > maxChoices {
		return param.Invalid("prompt", "%d prompts with n %d are %d answers; one request may have %d", len(r.prompts),
			r.n, len(r.prompts)*r.n, maxChoices)
	}
	for _, p := range r.prompts {
		if len(p.tokens) == 0 {
			return param.Invalid("prompt", "a prompt is empty; it needs at least one token")
		}
		if answer := max(1, r.params.MaxTokens); len(p.tokens)+answer > limit {
			return param.TooLong(limit, len(p.tokens), answer)
		}
	}
	return nil
}

// sample is the request of one prompt.
func (r *request) sample(p prompt) tinker.SampleRequest {
	out := tinker.SampleRequest{Prompt: tinker.Text(p.tokens), NumSamples: r.n, Params: r.params,
		CacheSalt: r.salt}
	out.Params.Guide = r.shape.guide(p.tokens)
	if r.silent {
		out.Params.MaxTokens = 1
	}
	if r.logprobs {
		out.TopKSampleLogprobs = r.top
		if r.echo {
			out.PromptLogprobs, out.TopKPromptLogprobs = true, r.top
		}
	}
	return out
}
