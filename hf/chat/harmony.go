package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// gpt-oss answers with several messages in OpenAI's harmony format, of which the prompt has <|start|>assistant:
//
//	<|channel|>analysis<|message|>THOUGHTS<|end|>
//	<|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>
//	<|start|>assistant<|channel|>final<|message|>TEXT<|return|>
//
// The recipient may also stand before the channel. Text in any other channel than analysis is for the user.

// HarmonyMessage is the mark between the header of a message and its text.
const HarmonyMessage = "<|message|>"

const (
	harmonyStart   = "<|start|>"
	harmonyChannel = "<|channel|>"
	harmonyTo      = " to="
)

// HarmonyEnds are the marks after the text of a message: a start, too, where the end is missing.
func HarmonyEnds() []string { return []string{"<|end|>", "<|call|>", "<|return|>", harmonyStart} }

// HarmonyHeader is who reads a message, and to whom it is a call, if it is one.
type HarmonyHeader struct{ Channel, To string }

// BeginsHarmony reports whether a text begins with a header, and whether it may with more text. Without one it is a
// message for the user.
func BeginsHarmony(text string) (begins, may bool) {
	for _, mark := range []string{harmonyStart, harmonyChannel, harmonyTo} {
		begins = begins || strings.HasPrefix(text, mark)
		may = may || strings.HasPrefix(mark, text)
	}
	return begins, may
}

// ReadHarmonyHeader reads what is before HarmonyMessage.
func ReadHarmonyHeader(text string) (h HarmonyHeader) {
	word := func(mark string) string {
		_, after, _ := strings.Cut(text, mark)
		if end := strings.IndexAny(after, blank+"<"); end >= 0 {
			after = after[:end]
		}
		return after
	}
	return HarmonyHeader{word(harmonyChannel), word(harmonyTo)}
}

// Thinks reports whether the message is not for the user.
func (h HarmonyHeader) Thinks() bool { return h.Channel == "analysis" }

// Call is the call that a message's text is.
func (h HarmonyHeader) Call(text string) (*jinja.Map, error) {
	name := strings.TrimPrefix(h.To, "functions.")
	v, err := jinja.DecodeJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("chat: a tool call is not well formed: no JSON: %w", err)
	}
	arguments, ok := v.(*jinja.Map)
	if !ok || !isName(name) {
		return nil, fmt.Errorf("chat: a tool call of %q is not well formed: %.40q are no arguments", name, text)
	}
	return newCall(name, arguments), nil
}

// harmonyAnswer reads the messages of an answer. Messages of one kind are lines of one text.
func harmonyAnswer(text string) (m Message, err error) {
	m.Role = "assistant"
	var said, thought []string
	for text != "" {
		var h HarmonyHeader
		if begins, _ := BeginsHarmony(text); begins {
			head, after, whole := strings.Cut(text, HarmonyMessage)
			if !whole {
				break // cut off within a header
			}
			h, text = ReadHarmonyHeader(head), after
		}
		var body string
		body, text = cutHarmony(text)
		call, fault := (*jinja.Map)(nil), error(nil)
		if h.To != "" {
			call, fault = h.Call(body)
		}
		switch {
		case call != nil:
			m.ToolCalls = append(m.ToolCalls, call)
		case body == "":
		case h.Thinks() && h.To == "":
			thought = append(thought, body)
		default:
			said = append(said, body)
		}
		if err == nil {
			err = fault
		}
	}
	m.Content, m.Reasoning = strings.Join(said, "\n"), strings.Join(thought, "\n")
	return m, err
}

// cutHarmony cuts off the text of a message, with the mark of its end.
func cutHarmony(text string) (body, rest string) {
	at, mark := len(text), ""
	for _, end := range HarmonyEnds() {
		if i := strings.Index(text, end); i >= 0 && i < at {
			at, mark = i, end
		}
	}
	if mark == harmonyStart {
		mark = ""
	}
	return text[:at], text[at+len(mark):]
}

// isHarmony reports whether a template writes messages in this format.
func isHarmony(template string) bool {
	return !slices.ContainsFunc([]string{harmonyStart, harmonyChannel, HarmonyMessage, "analysis"},
		func(mark string) bool { return !strings.Contains(template, mark) })
}
