package endpoint

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// leastLogprob stands for a probability of 0, as in OpenAI's answers; JSON has no infinity.
const leastLogprob = -9999

// number is a logprob as JSON can have it. It keeps its 32 bits.
func number(x float32) any {
	switch {
	case math.IsNaN(float64(x)):
		return nil
	case math.IsInf(float64(x), 0):
		return leastLogprob
	}
	return x
}

// chatLogprobs is logprobs of a chat: one entry for each token, the one that ended the answer too.
func (p *piece) chatLogprobs() param.Object {
	return param.Object{"content": p.logprobsOf(p.drawn), "refusal": nil}
}

// logprobsOf has an entry for each of the tokens.
func (p *piece) logprobsOf(drawn []tinker.Drawn) []any {
	content := make([]any, len(drawn))
	for i, d := range drawn {
		top := make([]any, len(d.Top))
		for j, x := range d.Top {
			top[j] = p.entry(x)
		}
		e := p.entry(tinker.TokenLogprob{Token: d.Token, Logprob: d.Logprob})
		e["top_logprobs"] = top
		content[i] = e
	}
	return content
}

func (p *piece) entry(x tinker.TokenLogprob) param.Object {
	raw := p.text.Tokenizer.Bytes(x.Token)
	list := make([]int, len(raw))
	for i, b := range raw {
		list[i] = int(b)
	}
	return param.Object{"token": strings.ToValidUTF8(string(raw), "\uFFFD"), "logprob": number(x.Logprob),
		"bytes": list}
}

// columns is logprobs of a completion, one entry for each token in each.
type columns struct {
	Tokens   []string `json:"tokens"`
	Logprobs []any    `json:"token_logprobs"`
	Top      []any    `json:"top_logprobs"`
	Offsets  []int    `json:"text_offset"`
}

func newColumns() *columns {
	return &columns{Tokens: []string{}, Logprobs: []any{}, Top: []any{}, Offsets: []int{}}
}

// add adds a token that begins at offset; likeliest has the likeliest tokens in its place, nil for none.
func (c *columns) add(t *Text, x tinker.TokenLogprob, likeliest []tinker.TokenLogprob, offset int) {
	c.Tokens = append(c.Tokens, spelling(t, x.Token))
	c.Logprobs = append(c.Logprobs, number(x.Logprob))
	c.Offsets = append(c.Offsets, offset)
	if likeliest == nil {
		c.Top = append(c.Top, nil)
		return
	}
	top := map[string]any{spelling(t, x.Token): number(x.Logprob)}
	for _, y := range likeliest {
		top[spelling(t, y.Token)] = number(y.Logprob)
	}
	c.Top = append(c.Top, top)
}

// spelling is a token's text or, if that is no UTF-8, its bytes as OpenAI writes them, so that no two tokens have the
// same.
func spelling(t *Text, id int32) string {
	raw := t.Tokenizer.Bytes(id)
	if utf8.Valid(raw) {
		return string(raw)
	}
	var b strings.Builder
	b.WriteString("bytes:")
	for _, c := range raw {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// completionLogprobs is logprobs of a completion. echo is the result of a request whose prompt is in the answer, else
// nil.
func (p *piece) completionLogprobs(from *prompt, echo *tinker.SampleResponse) *columns {
	c := newColumns()
	offset := p.offset
	if echo != nil {
		offset = 0
		for i, id := range from.tokens {
			var top []tinker.TokenLogprob
			if echo.TopKPromptLogprobs != nil {
				top = echo.TopKPromptLogprobs[i]
			}
			c.add(p.text, tinker.TokenLogprob{Token: id, Logprob: echo.PromptLogprobs[i]}, top, offset)
			offset += characters(p.text.Tokenizer.Bytes(id))
		}
	}
	for _, d := range p.drawn {
		c.add(p.text, tinker.TokenLogprob{Token: d.Token, Logprob: d.Logprob}, d.Top, offset)
		offset += characters(p.text.Tokenizer.Bytes(d.Token))
	}
	return c
}
