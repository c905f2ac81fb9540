package chat

import (
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// CallStyle is how a family of models writes tool calls.
type CallStyle int

const (
	NoCalls    CallStyle = iota
	QwenCalls            // <tool_call>{"name": …, "arguments": {…}}</tool_call>, any number, text around them
	LlamaCalls           // {"name": …, "parameters": {…}} as the whole answer, or after <|python_tag|>
	// FunctionCalls are Qwen3-Coder's and Qwen3.5's, any number, text around them:
	// <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>
	FunctionCalls
	// PairCalls are GLM-4.5's and later, any number, text around them:
	// <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>
	PairCalls
	// HarmonyCalls are gpt-oss's, see harmony.go.
	HarmonyCalls
)

// Tagged reports whether the style's calls are between <tool_call> and
// </tool_call>.
func (s CallStyle) Tagged() bool { return s == QwenCalls || s == FunctionCalls || s == PairCalls }

const (
	callOpen   = "<tool_call>"
	callClose  = "</tool_call>"
	pythonTag  = "<|python_tag|>"
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// CallStyle tells from the text of the template for tools how its model writes
// tool calls.
func (t *Template) CallStyle() CallStyle {
	says := func(marks ...string) bool {
		return !slices.ContainsFunc(marks, func(m string) bool { return !strings.Contains(t.tools.text, m) })
	}
	switch {
	case isHarmony(t.tools.text):
		return HarmonyCalls
	case says(callOpen, functionOpen, parameterOpen):
		return FunctionCalls
	case says(callOpen, keyOpen, valueOpen):
		return PairCalls
	case says(callOpen):
		return QwenCalls
	case says(pythonTag) || says("ipython"):
		return LlamaCalls
	}
	return NoCalls
}

// ParseAnswer reads what an assistant wrote into a message: its thoughts, its
// tool calls and the text besides. A call that is not well formed stays in the
// text, and the error, which tells why, comes with a message all the same.
//
// The tools that the model was offered give the arguments of FunctionCalls and
// PairCalls their types. Without a type, an argument of FunctionCalls stays
// text, and one of PairCalls is parsed as JSON when possible, as in vLLM.
func ParseAnswer(text string, style CallStyle, tools ...jinja.Value) (Message, error) {
	if style == HarmonyCalls {
		return harmonyAnswer(text)
	}
	m := Message{Role: "assistant"}
	m.Reasoning, m.Content = splitReasoning(text)
	var err error
	switch {
	case style.Tagged():
		m.Content, m.ToolCalls, err = taggedCalls(m.Content, style, tools)
	case style == LlamaCalls:
		m.Content, m.ToolCalls, err = llamaCalls(m.Content)
	}
	return m, err
}

// splitReasoning cuts an answer at the first </think>. The <think> may be
// missing, since some templates put it into the prompt; an answer that begins
// with <think> and never closes it is all reasoning. Newlines at the cuts go.
func splitReasoning(text string) (reasoning, content string) {
	opened := strings.TrimLeft(text, " \t\r\n")
	before, after, closed := strings.Cut(text, thinkClose)
	if closed {
		opened = strings.TrimLeft(before, " \t\r\n")
	}
	inside, begun := strings.CutPrefix(opened, thinkOpen)
	switch {
	case !closed && !begun:
		return "", text
	case !begun:
		inside = before
	}
	return strings.Trim(inside, "\r\n"), strings.TrimLeft(after, "\r\n")
}
