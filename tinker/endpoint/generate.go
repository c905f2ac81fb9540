package endpoint

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/event"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Generate answers POST inference/v1/generate, vLLM's route from tokens to tokens, as Chat does for chats.
func (a *API) Generate(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	return a.serve(ctx, w, tenant, body, readGenerate, "gen-")
}

// generateUnsupported are the parameters that are refused unless they ask for what happens anyway.
var generateUnsupported = param.Refusals{
	"priority":              {[]string{"0"}, "tenants get equal shares"},
	"features":              {nil, "only text is read"},
	"kv_transfer_params":    {nil, "leave it out"},
	"ec_transfer_params":    {nil, "leave it out"},
	"assistant_tokens_mask": {nil, "leave it out"},
	"token_offsets":         {nil, "leave it out"},
}

// samplingUnsupported are such parameters within sampling_params, in addition to chats'.
var samplingUnsupported = func() param.Refusals {
	out := maps.Clone(param.Unsupported)
	maps.Copy(out, param.Refusals{
		"detokenize":                    {[]string{"true", "false"}, "tokens are returned"},
		"spaces_between_special_tokens": {[]string{"true", "false"}, "tokens are returned"},
		"include_stop_str_in_output":    {[]string{"true", "false"}, "tokens are returned"},
		"output_kind":                   {[]string{"0", "1", "2"}, "use stream"},
		"flat_logprobs":                 {[]string{"false"}, "leave it out"},
		"allowed_token_ids":             {nil, "leave it out"},
		"extra_args":                    {[]string{"{}"}, "leave it out"},
		"thinking_token_budget":         {nil, "leave it out"},
		"skip_reading_prefix_cache":     {[]string{"false"}, "leave it out"},
	})
	delete(out, "prompt_logprobs")
	return out
}()

// readGenerate reads the parameters of a generation. Without max_tokens it continues to the end of the context.
func readGenerate(f param.Fields, t *Text) (*request, error) {
	form := &tokenForm{top: -1, promptTop: -1}
	if _, err := f.Take("request_id", &form.id); err != nil {
		return nil, err
	}
	var ids []int32
	if there, err := f.Take("token_ids", &ids); err != nil || !there {
		return nil, first(orMissing(err, "token_ids"))
	}
	if err := t.check("token_ids", ids); err != nil {
		return nil, err
	}
	p := param.Fields{}
	if there, err := f.Take("sampling_params", &p); err != nil || !there {
		return nil, first(orMissing(err, "sampling_params"))
	}
	r, err := readSampling(p, t, form)
	if err != nil {
		return nil, param.Within("sampling_params", err)
	}
	outer := param.Fields{}
	for _, name := range []string{"stream", "stream_options"} {
		if raw, ok := f[name]; ok {
			outer[name] = raw
			delete(f, name)
		}
	}
	if err := errors.Join(readForm(outer, r), readCacheSalt(f, r)); err != nil {
		return nil, first(err)
	}
	if r.stream && form.promptTop >= 0 {
		return nil, param.Invalid("prompt_logprobs", "prompt_logprobs are not streamed; set stream to false")
	}
	text, err := t.decode(ids, true)
	if err != nil {
		return nil, err
	}
	r.form, r.prompts = form, []prompt{{tokens: ids, text: text, fixed: true}}
	if err := f.Refuse(nil, generateUnsupported); err != nil {
		return nil, err
	}
	clear(f)
	return r, nil
}

// orMissing is err, or that a parameter is missing.
func orMissing(err error, name string) error {
	if err == nil {
		err = param.Invalid(name, "%s is missing", name)
	}
	return err
}

// readSampling reads sampling_params.
func readSampling(p param.Fields, t *Text, form *tokenForm) (*request, error) {
	for name, raw := range p {
		if string(raw) == "null" {
			delete(p, name)
		}
	}
	for _, name := range []string{"stream", "stream_options", "return_token_ids", "cache_salt"} {
		if _, ok := p[name]; ok {
			return nil, param.Invalid(name, "%s is not a sampling parameter", name)
		}
	}
	var err error
	if form.top, err = readCount(p, "logprobs"); err != nil {
		return nil, err
	}
	if form.promptTop, err = readCount(p, "prompt_logprobs"); err != nil {
		return nil, err
	}
	r, err := readCommon(p, t)
	if err != nil {
		return nil, err
	}
	if r.silent {
		return nil, param.Invalid("max_tokens", "max_tokens is 0; it must be 1 or more")
	}
	r.top = max(0, form.top, form.promptTop)
	r.echo = form.promptTop >= 0
	r.logprobs = form.top >= 0 || r.echo
	return r, p.Refuse(nil, samplingUnsupported)
}

// readCount reads how many of the likeliest tokens are listed with each token; -1 means that nothing is.
func readCount(p param.Fields, name string) (int, error) {
	n := -1
	there, err := p.Take(name, &n)
	if err != nil {
		return 0, err
	}
	if there && (n < 0 || n > maxTop) {
		return 0, param.Invalid(name, "%s is %d; it must be 0 to %d", name, n, maxTop)
	}
	return n, nil
}

// tokenForm is vLLM's form of a generation.
type tokenForm struct {
	id        string // request_id of the client; "" for none
	top       int    // likeliest tokens with each token; -1: no logprobs
	promptTop int    // the same of the prompt
}

// head is the beginning of an answer and of each piece of a stream.
func (t *tokenForm) head(a *answer, choices []any) param.Object {
	id := t.id
	if id == "" {
		id = a.id
	}
	return param.Object{"request_id": id, "model": a.request.model, "created": a.created, "choices": choices}
}

func (t *tokenForm) whole(a *answer, pieces []piece, results []tinker.SampleResponse, u usage) param.Object {
	choices := make([]any, len(pieces))
	for i := range pieces {
		choices[i] = t.choice(&pieces[i])
	}
	b := t.head(a, choices)
	b["usage"], b["prompt_logprobs"], b["kv_transfer_params"] = u.body(), nil, nil
	if t.promptTop >= 0 {
		b["prompt_logprobs"] = t.prompt(a, &results[0])
	}
	return b
}

// choice is a sample, or the addition of a piece.
func (t *tokenForm) choice(p *piece) param.Object {
	c := param.Object{"index": p.index, "token_ids": p.ids(), "logprobs": nil, "finish_reason": param.OrNull(p.finish)}
	if t.top < 0 {
		return c
	}
	content := make([]any, len(p.drawn))
	for i, d := range p.drawn {
		top := []any{}
		for _, x := range d.Top[:min(t.top, len(d.Top))] {
			top = append(top, p.numbered(x))
		}
		e := p.numbered(tinker.TokenLogprob{Token: d.Token, Logprob: d.Logprob})
		e["top_logprobs"] = top
		content[i] = e
	}
	c["logprobs"] = param.Object{"content": content}
	return c
}

// numbered is an entry of logprobs that names the token by its id, as vLLM does on this route.
func (p *piece) numbered(x tinker.TokenLogprob) param.Object {
	e := p.entry(x)
	e["token"], e["token_id"] = fmt.Sprintf("token_id:%d", x.Token), x.Token
	return e
}

// prompt is prompt_logprobs: for each token of the prompt but the first the likeliest tokens and itself, by id. rank is
// its place among all tokens, null if it is not among the likeliest that the request asked for.
func (t *tokenForm) prompt(a *answer, res *tinker.SampleResponse) []any {
	ids := a.prompts[0].tokens
	out := make([]any, len(ids))
	for i := 1; i < len(ids); i++ {
		entry := func(x tinker.TokenLogprob, rank any) param.Object {
			return param.Object{"logprob": number(x.Logprob), "rank": rank,
				"decoded_token": spelling(a.model.Text, x.Token)}
		}
		at := param.Object{strconv.Itoa(int(ids[i])): entry(tinker.TokenLogprob{Token: ids[i],
			Logprob: res.PromptLogprobs[i]}, nil)}
		if res.TopKPromptLogprobs != nil {
			for j, x := range res.TopKPromptLogprobs[i] {
				if j < t.promptTop || x.Token == ids[i] {
					at[strconv.Itoa(int(x.Token))] = entry(x, j+1)
				}
			}
		}
		out[i] = at
	}
	return out
}

func (t *tokenForm) begin(*answer, *event.Events) error { return nil }

func (t *tokenForm) piece(a *answer, e *event.Events, p *piece) error {
	return e.Send(t.head(a, []any{t.choice(p)}))
}

func (t *tokenForm) end(a *answer, e *event.Events, u usage) {
	if a.usage {
		b := t.head(a, []any{})
		b["usage"] = u.body()
		if e.Send(b) != nil {
			return
		}
	}
	e.Done()
}

func (t *tokenForm) fail(a *answer, e *event.Events, err error) { openaiForm{}.fail(a, e, err) }
