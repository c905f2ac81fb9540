package speech

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// messages is where a Splitter of HarmonyCalls is among the messages of an answer.
type messages struct {
	header        chat.HarmonyHeader
	fresh         bool // nothing of the message was handed out
	thought, said bool // something of an earlier one was
}

// harmony is step for HarmonyCalls.
func (s *Splitter) harmony(out *Part, end bool) bool {
	if s.at == atStart {
		return s.head(end)
	}
	at, mark := FirstOf(s.held, chat.HarmonyEnds())
	body := s.held
	switch {
	case at >= 0:
		body = body[:at]
	case end:
	case s.header.To != "":
		return false
	default:
		keep := 0
		for _, mark := range chat.HarmonyEnds() {
			keep = max(keep, Overlap(body, mark))
		}
		body = body[:len(body)-keep]
	}
	s.utter(out, body)
	if s.held = s.held[len(body):]; at < 0 {
		return false
	}
	if begins, _ := chat.BeginsHarmony(s.held); !begins {
		s.held = s.held[len(mark):]
	}
	s.at = atStart
	return true
}

// head reads the header of a message.
func (s *Splitter) head(end bool) bool {
	begins, may := chat.BeginsHarmony(s.held)
	head, rest, whole := strings.Cut(s.held, chat.HarmonyMessage)
	switch {
	case begins && whole:
		s.header, s.held = chat.ReadHarmonyHeader(head), rest
	case begins && end:
		s.held = ""
		return false
	case begins || may && !end || s.held == "":
		return false
	default:
		s.header = chat.HarmonyHeader{}
	}
	s.at, s.fresh = inContent, true
	return true
}

// utter hands out text of a message, or the call that it is.
func (s *Splitter) utter(out *Part, text string) {
	to, before := &out.Content, &s.said
	if s.header.To != "" {
		if call, err := s.header.Call(text); err == nil {
			s.add(out, jinja.List{call})
			return
		}
	} else if s.header.Thinks() {
		to, before = &out.Reasoning, &s.thought
	}
	if text == "" {
		return
	}
	if s.fresh && *before {
		*to += "\n"
	}
	*to += text
	*before, s.fresh = true, false
}
