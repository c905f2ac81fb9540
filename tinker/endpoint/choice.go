package endpoint

import (
	"bytes"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// choice makes text and calls of one sample's tokens.
type choice struct {
	r     *request
	text  *Text
	index int

	speech speech.Speech
	split  *speech.Splitter // nil: a plain completion
	offset int              // characters (code points) before the next token, as text_offset counts
	called int
	ended  bool
	silent []tinker.Drawn // of a request with spoken: tokens whose text is not decided
}

// piece is the addition of some tokens to a choice.
type piece struct {
	*choice
	speech.Part
	drawn  []tinker.Drawn
	spoken []tinker.Drawn // the tokens that content came from, if the request has spoken
	offset int            // of the first token
	first  int            // number of the first call
	finish string         // finish_reason; "" if the answer continues
}

// newChoice begins answer i of a request.
func newChoice(r *request, t *Text, i int) *choice {
	marks := r.keepSpecial || r.chat != nil && r.chat.style == chat.HarmonyCalls // whose marks are special tokens
	c := &choice{r: r, text: t, index: i,
		speech: speech.Speech{Decoder: t.Tokenizer.NewDecoder(!marks), Stops: r.params.StopStrings}}
	if r.chat != nil {
		c.split = &speech.Splitter{Style: r.chat.style, Tools: r.chat.tools, One: r.chat.one}
		if r.chat.inside {
			c.split.Inside()
		}
		c.split.Write(r.chat.begun) // the beginning of a call, which is held back
	}
	return c
}

// take takes the next tokens of the sample.
func (c *choice) take(some []tinker.Drawn) piece {
	if c.r.spoken {
		return c.takeEach(some)
	}
	return c.takeAll(some)
}

// takeEach is take for a request that asks which tokens content came from. A token belongs to the text that it, or one
// after it, made certain; tokens of thoughts, calls and marks, and the one that ended the answer, belong to none.
func (c *choice) takeEach(some []tinker.Drawn) piece {
	all := piece{choice: c, drawn: some, offset: c.offset, first: c.called}
	for i, d := range some {
		p := c.takeAll(some[i : i+1])
		if !c.endsWith(d) {
			c.silent = append(c.silent, d)
		}
		if p.Content != "" {
			all.spoken = append(all.spoken, c.speakers(c.silent, p.Content)...)
		}
		if !p.Part.Empty() {
			c.silent = c.silent[:0]
		}
		all.Reasoning += p.Reasoning
		all.Content += p.Content
		all.Calls = append(all.Calls, p.Calls...)
		all.finish = p.finish
	}
	return all
}

// speakers are those of some tokens that content came from: without marks and white space before it, and what follows.
func (c *choice) speakers(some []tinker.Drawn, content string) []tinker.Drawn {
	says := func(some []tinker.Drawn) bool {
		var raw []byte
		for _, d := range some {
			raw = append(raw, c.text.Tokenizer.Bytes(d.Token)...)
		}
		return bytes.Contains(raw, []byte(content))
	}
	for len(some) > 1 && says(some[1:]) {
		some = some[1:]
	}
	for len(some) > 1 && says(some[:len(some)-1]) {
		some = some[:len(some)-1]
	}
	return some
}

func (c *choice) takeAll(some []tinker.Drawn) piece {
	p := piece{choice: c, drawn: some, offset: c.offset, first: c.called}
	if c.r.silent {
		p.drawn, p.finish, c.ended = nil, string(tinker.StopLength), true
		return p
	}
	text := ""
	var stop tinker.StopReason
	for _, d := range some {
		if !c.endsWith(d) {
			text += c.speech.Write(d.Token)
		}
		stop = d.Stop
		c.offset += characters(c.text.Tokenizer.Bytes(d.Token))
	}
	if stop != "" {
		text += c.speech.End()
		c.ended = true
	}
	p.Part = c.divide(text)
	c.called += len(p.Calls)
	if p.finish = string(stop); stop == tinker.StopStop && c.called > 0 {
		p.finish = "tool_calls"
	}
	return p
}

// endsWith reports whether a token ends the answer and is not part of the text.
func (c *choice) endsWith(d tinker.Drawn) bool {
	return d.Stop == tinker.StopStop &&
		(slices.Contains(c.r.params.StopTokens, d.Token) || slices.Contains(c.text.Ends, d.Token))
}

// divide divides text into the parts of a chat's message.
func (c *choice) divide(text string) speech.Part {
	if c.split == nil {
		return speech.Part{Content: text}
	}
	p := c.split.Write(text)
	if c.ended {
		rest := c.split.End()
		p.Reasoning += rest.Reasoning
		p.Content += rest.Content
		p.Calls = append(p.Calls, rest.Calls...)
	}
	return p
}

// drawnOf is a whole sample as a stream has it.
func drawnOf(q tinker.SampledSequence) []tinker.Drawn {
	out := make([]tinker.Drawn, len(q.Tokens))
	for i, token := range q.Tokens {
		out[i] = tinker.Drawn{Token: token, Logprob: q.Logprobs[i]}
		if q.TopKLogprobs != nil {
			out[i].Top = q.TopKLogprobs[i]
		}
	}
	out[len(out)-1].Stop = q.StopReason
	return out
}

// characters is the number of code points that begin in some bytes: of UTF-8, all bytes but 10xxxxxx.
func characters(text []byte) (n int) {
	for _, b := range text {
		if b&0xc0 != 0x80 {
			n++
		}
	}
	return n
}
