package chat

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// pySpace is str.isspace of Python.
func pySpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// Conversation is a rendered conversation as training data.
type Conversation struct {
	// Tokens and Mask have one length; Mask is true where an assistant wrote.
	Tokens []int32
	Mask   []bool
	// PromptLength is the place of the first token of Mask, 0 if there is none.
	PromptLength int
}

// Conversation tokenises a whole conversation and marks what its assistant
// wrote. A template with {% generation %} marks it. With any other, an
// assistant message is the text between two renderings: of the messages before
// it, with the generation prompt as far as the conversation shows it, and of the
// messages up to it; messages before the last
// one of a user are left out if the template mentions <think>, since such
// templates drop earlier thoughts.
func (t *Template) Conversation(tok *tokenizer.Tokenizer, messages []Message, o Options) (*Conversation, error) {
	o.AddGenerationPrompt, o.ContinueFinal = false, false
	res, err := t.render(messages, o)
	if err != nil {
		return nil, err
	}
	c := &Conversation{Tokens: tok.Encode(res.Text, false)}
	c.Mask = make([]bool, len(c.Tokens))
	if t.source(o).marks() {
		for _, s := range res.Generations {
			c.markSpan(tok, res.Text, s)
		}
	} else if err := t.markByPrefix(c, tok, res.Text, messages, o); err != nil {
		return nil, err
	}
	for i, marked := range c.Mask {
		if marked {
			c.PromptLength = i
			break
		}
	}
	return c, nil
}

// marks reports whether the template has {% generation %} blocks.
func (s *source) marks() bool {
	for rest := s.text; ; {
		_, after, found := strings.Cut(rest, "{%")
		if !found {
			return false
		}
		rest = after
		after = strings.TrimLeftFunc(strings.TrimPrefix(after, "-"), pySpace)
		if after, ok := strings.CutPrefix(after, "generation"); ok {
			after = strings.TrimPrefix(strings.TrimLeftFunc(after, pySpace), "-")
			if strings.HasPrefix(after, "%}") {
				return true
			}
		}
	}
}

// mark marks tokens [from, to), as far as they exist.
func (c *Conversation) mark(from, to int) {
	for i := from; i < min(to, len(c.Mask)); i++ {
		c.Mask[i] = true
	}
}

// markSpan marks the tokens that hold a byte of span.
func (c *Conversation) markSpan(tok *tokenizer.Tokenizer, text string, span jinja.Span) {
	if span.Start == span.End {
		return
	}
	if !bytes.Equal(tok.DecodeBytes(c.Tokens, false), []byte(text)) { // a normalizer rewrote it
		c.mark(len(tok.Encode(text[:span.Start], false)), len(tok.Encode(text[:span.End], false)))
		return
	}
	at := 0
	for i, id := range c.Tokens {
		end := at + len(tok.Bytes(id))
		if end > span.Start && at < span.End {
			c.Mask[i] = true
		}
		at = end
	}
}

// markByPrefix marks what each assistant message adds to the text. Nothing of a
// message is marked if the template shows the text before it differently once
// more messages follow.
func (t *Template) markByPrefix(c *Conversation, tok *tokenizer.Tokenizer, text string, messages []Message,
	o Options) error {
	start := 0
	if strings.Contains(t.source(o).text, "<think>") {
		for i := range messages {
			if messages[i].Role == "user" {
				start = i
			}
		}
	}
	for i := start; i < len(messages); i++ {
		if messages[i].Role != "assistant" {
			continue
		}
		from, ok, err := t.begin(c, tok, text, messages[:i], o)
		if err != nil {
			return err
		}
		through, err := t.Render(messages[:i+1], o)
		if err != nil {
			return err
		}
		if ok {
			c.markSpan(tok, text, jinja.Span{Start: from, End: t.end(tok, text, through, from)})
		}
	}
	return nil
}

// begin returns where the assistant message behind history begins in text: after the generation prompt or, if the
// template opens an answer differently from how it shows one (DeepSeek-R1's opens a thought), at the first token that
// differs. ok is false if text shows the history itself differently.
func (t *Template) begin(c *Conversation, tok *tokenizer.Tokenizer, text string, history []Message,
	o Options) (at int, ok bool, err error) {
	if len(history) == 0 {
		return 0, true, nil
	}
	o.AddGenerationPrompt = true
	open, err := t.Render(history, o)
	if err != nil || strings.HasPrefix(text, open) {
		return len(open), err == nil, err
	}
	o.AddGenerationPrompt = false
	closed, err := t.Render(history, o)
	if err != nil || !strings.HasPrefix(text, closed) || !strings.HasPrefix(open, closed) {
		return 0, false, nil
	}
	ids, n := tok.Encode(open, false), 0
	for n < min(len(ids), len(c.Tokens)) && ids[n] == c.Tokens[n] {
		n++
	}
	at = min(common(text, open), len(tok.DecodeBytes(ids[:n], false)))
	return max(at, len(closed)), true, nil
}

// end returns where the assistant message that begins at from ends in text;
// through is the conversation up to this message. Templates may show a message
// differently once more follow it (no empty thoughts, another token at its
// end): then it ends after the token that ends a turn, or else at the first
// difference.
func (t *Template) end(tok *tokenizer.Tokenizer, text, through string, from int) int {
	if strings.HasPrefix(text, through) {
		return max(from, len(through))
	}
	if stop, err := t.StopIDs(tok); err == nil && len(stop) > 0 {
		token := string(tok.Bytes(stop[0]))
		if i := strings.Index(text[from:], token); i >= 0 {
			return from + i + len(token)
		}
	}
	return max(from, common(text, through))
}

// common returns the length of the longest common prefix.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// probe is the content of the message after which StopIDs looks.
const probe = "zq7probe"

// StopIDs returns the token that the template puts at the end of an assistant
// turn, such as <|im_end|> or <|eot_id|>: the first special token after a
// message's content. It is empty if there is none.
func (t *Template) StopIDs(tok *tokenizer.Tokenizer) ([]int32, error) {
	text, err := t.Render([]Message{{Role: "user", Content: "Hi"}, {Role: "assistant", Content: probe}}, Options{})
	if err != nil {
		return nil, err
	}
	at := strings.LastIndex(text, probe)
	if at < 0 {
		return nil, fmt.Errorf("chat: the template does not show the content of an assistant message, so its end " +
			"cannot be found")
	}
	for _, id := range tok.Encode(text[at+len(probe):], false) {
		if tok.IsSpecial(id) {
			return []int32{id}, nil
		}
	}
	return nil, nil
}
