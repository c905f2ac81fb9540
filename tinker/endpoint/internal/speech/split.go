package speech

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// Part is a piece of an assistant's message.
type Part struct {
	Reasoning, Content string
	Calls              []Call
}

func (p Part) Empty() bool { return p.Reasoning == "" && p.Content == "" && len(p.Calls) == 0 }

// Call is one call of a tool.
type Call struct {
	Name, Arguments string // arguments: JSON
}

// Splitter divides the text of an answer into thoughts, content and tool calls while it is written: text that may
// belong to either of two is held back until that is decided. A call is complete when it is handed out. What
// chat.ParseAnswer cannot read as a call stays in the content.
type Splitter struct {
	Style chat.CallStyle // NoCalls: nothing is a call
	Tools jinja.List     // that the model was offered
	One   bool           // only the first call counts
	at    place
	held  string
	tried int // of held: no call ends before it
	// begun: there was a thought (inThought) or content (inContent), so that newlines count; trim: newlines at the
	// beginning do not.
	begun, trim bool
	gap         string // newlines between content and the call in held
	joint       bool   // the next content follows a call and other content
	called      int
	messages    // of HarmonyCalls
}

// place is where in an answer the next character stands.
type place int

const (
	atStart   place = iota // it may begin with a thought or, in one style, a call
	inThought              // before </think>
	inContent
	inCall // held begins with the mark of a call
)

// The marks in an answer, as hf/chat has them.
const (
	ThinkOpen  = "<think>"
	ThinkClose = "</think>"
	CallOpen   = "<tool_call>"
	CallClose  = "</tool_call>"
	pythonTag  = "<|python_tag|>"
	Blank      = " \t\r\n"
	newlines   = "\r\n"
)

// Inside says that the answer begins within a thought, which the prompt has opened.
func (s *Splitter) Inside() { s.at = inThought }

// Write takes the next piece of text and returns the parts that are certain now.
func (s *Splitter) Write(text string) (out Part) {
	s.held += text
	for s.step(&out, false) {
	}
	return out
}

// End returns the rest.
func (s *Splitter) End() (out Part) {
	for s.step(&out, true) {
	}
	return out
}

// step moves text from held to out and reports whether it reached another place.
func (s *Splitter) step(out *Part, end bool) bool {
	if s.Style == chat.HarmonyCalls {
		return s.harmony(out, end)
	}
	switch s.at {
	case atStart:
		return s.start(end)
	case inThought:
		return s.think(out, end)
	case inContent:
		return s.say(out, end)
	}
	return s.call(out, end)
}

// start decides how an answer begins.
func (s *Splitter) start(end bool) bool {
	seen := strings.TrimLeft(s.held, Blank)
	switch {
	case strings.HasPrefix(seen, ThinkOpen):
		s.held, s.at = strings.TrimPrefix(seen, ThinkOpen), inThought
	case s.Style == chat.LlamaCalls && strings.HasPrefix(seen, "{"):
		s.at = inCall
	case !end && strings.HasPrefix(ThinkOpen, seen): // or there is nothing yet
		return false
	default:
		s.at = inContent
	}
	return true
}

// think hands out thoughts, without the newlines around them.
func (s *Splitter) think(out *Part, end bool) bool {
	thought, after, closed := strings.Cut(s.held, ThinkClose)
	if !s.begun {
		thought = strings.TrimLeft(thought, newlines)
	}
	sure := thought
	if !closed && !end {
		sure = thought[:len(thought)-Overlap(thought, ThinkClose)]
	}
	sure = strings.TrimRight(sure, newlines)
	out.Reasoning += sure
	s.begun = s.begun || sure != ""
	s.held = thought[len(sure):]
	if closed {
		s.held, s.at, s.begun, s.trim = after, inContent, false, true
	}
	return closed
}

// opener is the mark with which a call begins within content.
func (s *Splitter) opener() string {
	switch {
	case s.Style.Tagged():
		return CallOpen
	case s.Style == chat.LlamaCalls:
		return pythonTag
	}
	return ""
}

// say hands out content up to a call, without the newlines between the two.
func (s *Splitter) say(out *Part, end bool) bool {
	if s.trim {
		s.held = strings.TrimLeft(s.held, newlines)
		s.trim = s.held == ""
	}
	open := s.opener()
	if open == "" || s.held == "" {
		s.speak(out, s.held)
		s.held = ""
		return false
	}
	before, _, found := strings.Cut(s.held, open)
	switch {
	case found:
		said := strings.TrimRight(before, newlines)
		s.speak(out, said)
		s.held, s.gap, s.at = s.held[len(before):], before[len(said):], inCall
		return true
	case end:
		s.speak(out, s.held)
		s.held = ""
		return false
	}
	sure := strings.TrimRight(s.held[:len(s.held)-Overlap(s.held, open)], newlines)
	s.speak(out, sure)
	s.held = s.held[len(sure):]
	return false
}

// speak adds content. Content after a call begins on a new line, unless it is the first.
func (s *Splitter) speak(out *Part, text string) {
	if text == "" {
		return
	}
	if s.joint {
		out.Content += "\n"
	}
	out.Content += text
	s.begun, s.joint = true, false
}

// call hands out a call that is complete. At the end of the answer, the rest is content.
func (s *Splitter) call(out *Part, end bool) bool {
	for s.Style.Tagged() {
		at := strings.Index(s.held[s.tried:], CallClose)
		if at < 0 {
			break
		}
		s.tried += at + len(CallClose)
		found, after, err := chat.TakeCall(s.held[:s.tried], s.Style, s.Tools...)
		if err == nil && after == "" {
			s.add(out, jinja.List{found})
			s.held, s.tried, s.at = s.held[s.tried:], 0, inContent
			s.trim, s.joint = true, s.begun
			return true
		}
	}
	if !end || s.held == "" {
		return false
	}
	m, err := chat.ParseAnswer(s.held, s.Style, s.Tools...)
	if m.Reasoning != "" || err != nil && len(m.ToolCalls) == 0 {
		m = chat.Message{Content: s.gap + s.held}
	}
	s.speak(out, m.Content)
	s.add(out, m.ToolCalls)
	s.held = ""
	return false
}

// add hands out calls in the form of package chat.
func (s *Splitter) add(out *Part, calls jinja.List) {
	for _, v := range calls {
		if s.One && s.called > 0 {
			return
		}
		m, _ := v.(*jinja.Map)
		f, _ := m.Get("function")
		function, _ := f.(*jinja.Map)
		name, _ := function.Get("name")
		arguments, _ := function.Get("arguments")
		text, _ := name.(string)
		out.Calls = append(out.Calls, Call{Name: text, Arguments: ToJSON(arguments)})
		s.called++
	}
}
