package chat

import (
	"encoding/json"
	"errors"
	"fmt"
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
	// PairCalls are those of GLM-4.5 and later, any number, text around them:
	// <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>
	PairCalls
)

// Tagged reports whether the style's calls stand between <tool_call> and
// </tool_call>.
func (s CallStyle) Tagged() bool { return s == QwenCalls || s == FunctionCalls || s == PairCalls }

const (
	callOpen   = "<tool_call>"
	callClose  = "</tool_call>"
	pythonTag  = "<|python_tag|>"
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// CallStyle tells from the template's text how its model writes tool calls.
func (t *Template) CallStyle() CallStyle {
	says := func(marks ...string) bool {
		return !slices.ContainsFunc(marks, func(m string) bool { return !strings.Contains(t.source, m) })
	}
	switch {
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
// PairCalls their types. Where they do not say, an argument of FunctionCalls is
// its text, and one of PairCalls is JSON if it can be, as vLLM has it.
func ParseAnswer(text string, style CallStyle, tools ...jinja.Value) (Message, error) {
	m := Message{Role: "assistant"}
	m.Reasoning, m.Content = SplitReasoning(text)
	var err error
	switch {
	case style.Tagged():
		m.Content, m.ToolCalls, err = taggedCalls(m.Content, style, tools)
	case style == LlamaCalls:
		m.Content, m.ToolCalls, err = llamaCalls(m.Content)
	}
	return m, err
}

// SplitReasoning cuts an answer at the first </think>. The <think> may be
// missing, since some templates put it into the prompt; an answer that begins
// with <think> and never closes it is all reasoning. Newlines at the cuts go.
func SplitReasoning(text string) (reasoning, content string) {
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

// TakeCall takes the call at the beginning of a text in a style that is Tagged,
// from <tool_call> on. Its end </tool_call> may be missing at the end of the text
// where the style tells without it that the call is complete.
func TakeCall(text string, style CallStyle, tools ...jinja.Value) (call *jinja.Map, after string, err error) {
	inside, is := strings.CutPrefix(text, callOpen)
	if !is {
		return nil, text, fmt.Errorf("chat: no %s", callOpen)
	}
	switch style {
	case FunctionCalls:
		call, after, err = functionCall(inside, tools)
	case PairCalls:
		call, after, err = pairsCall(inside, tools)
	default:
		call, after, err = jsonCall(inside)
	}
	if err != nil {
		return nil, text, fmt.Errorf("chat: a tool call is not well formed: %w", err)
	}
	return call, after, nil
}

// taggedCalls takes the <tool_call> elements out of a text.
func taggedCalls(text string, style CallStyle, tools jinja.List) (content string, calls jinja.List, err error) {
	if !strings.Contains(text, callOpen) {
		return text, nil, nil
	}
	var kept []string // the text between calls
	keep := func(s string) {
		if s = strings.Trim(s, "\r\n"); s != "" {
			kept = append(kept, s)
		}
	}
	var bad []error
	for text != "" {
		at := strings.Index(text, callOpen)
		if at < 0 {
			keep(text)
			break
		}
		keep(text[:at])
		text = text[at:]
		call, after, err := TakeCall(text, style, tools...)
		if err != nil {
			bad = append(bad, err)
			end := len(text)
			if i := strings.Index(text, callClose); i >= 0 {
				end = i + len(callClose)
			}
			keep(text[:end])
			text = text[end:]
			continue
		}
		calls = append(calls, call)
		text = after
	}
	return strings.Join(kept, "\n"), calls, errors.Join(bad...)
}

// jsonCall takes a call whose name and arguments are JSON, with its end. That may
// be missing where the answer was cut off after the JSON.
func jsonCall(text string) (call *jinja.Map, after string, err error) {
	if call, after, err = takeCall(text, "arguments"); err == nil {
		after, err = closeCall(after, "the JSON")
	}
	return call, after, err
}

// llamaCalls reads an answer that is one or more JSON objects, apart from each
// other by semicolons or white space, or text with such after <|python_tag|>.
// Behind the tag may also stand a built-in tool's name.call(key="value").
func llamaCalls(text string) (content string, calls jinja.List, err error) {
	before, code, tagged := strings.Cut(text, pythonTag)
	if !tagged {
		before, code = "", text
	}
	code = strings.TrimSpace(code)
	for _, end := range []string{"<|eom_id|>", "<|eot_id|>"} {
		code = strings.TrimSpace(strings.TrimSuffix(code, end))
	}
	if tagged && !strings.HasPrefix(code, "{") {
		call, err := builtinCall(code)
		if err != nil {
			return text, nil, fmt.Errorf("chat: a tool call is not well formed: %w", err)
		}
		return strings.TrimRight(before, "\r\n"), jinja.List{call}, nil
	}
	for rest := code; rest != ""; rest = strings.TrimLeft(rest, "; \t\r\n") {
		var call *jinja.Map
		if call, rest, err = takeCall(rest, "parameters"); err != nil {
			break
		}
		calls = append(calls, call)
	}
	switch {
	case err == nil && calls != nil:
		return strings.TrimRight(before, "\r\n"), calls, nil
	case tagged:
		return text, nil, fmt.Errorf("chat: a tool call is not well formed: %w", errors.Join(err))
	}
	return text, nil, nil // an answer like any other, perhaps JSON that somebody asked for
}

// takeCall takes the JSON of a call at the start of text. Its arguments are the
// member asked for, or the one that the other style has; they may be missing, or
// be an object written as a string. The call is in the form that chat templates
// expect: type and function, with name and arguments.
func takeCall(text, member string) (call *jinja.Map, rest string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, text, fmt.Errorf("no JSON: %w", err)
	}
	v, err := jinja.DecodeJSON(raw)
	if err != nil {
		return nil, text, err
	}
	object, ok := v.(*jinja.Map)
	if !ok {
		return nil, text, fmt.Errorf("the JSON is not an object")
	}
	if inner, ok := object.Get("function"); ok {
		if f, ok := inner.(*jinja.Map); ok {
			object = f
		}
	}
	name, _ := object.Get("name")
	if s, ok := name.(string); !ok || s == "" {
		return nil, text, fmt.Errorf("the JSON has no name")
	}
	arguments, err := callArguments(object, member, "arguments", "parameters")
	if err != nil {
		return nil, text, err
	}
	return newCall(name.(string), arguments), text[d.InputOffset():], nil
}

// callArguments returns the first of the members that is there.
func callArguments(object *jinja.Map, members ...string) (*jinja.Map, error) {
	for _, member := range members {
		v, ok := object.Get(member)
		if !ok {
			continue
		}
		if s, ok := v.(string); ok {
			if decoded, err := jinja.DecodeJSON([]byte(s)); err == nil {
				v = decoded
			}
		}
		if m, ok := v.(*jinja.Map); ok {
			return m, nil
		}
		return nil, fmt.Errorf("its %s are no object", member)
	}
	return &jinja.Map{}, nil
}

func newCall(name string, arguments *jinja.Map) *jinja.Map {
	function, call := &jinja.Map{}, &jinja.Map{}
	function.Set("name", name)
	function.Set("arguments", arguments)
	call.Set("type", "function")
	call.Set("function", function)
	return call
}

// builtinCall reads name.call(key="value", key=1): the values are JSON.
func builtinCall(code string) (*jinja.Map, error) {
	name, rest, found := strings.Cut(code, ".call(")
	if !found || name == "" || strings.ContainsAny(name, " \t\r\n(\"'=") {
		return nil, fmt.Errorf("neither JSON nor name.call(…): %.40q", code)
	}
	arguments := &jinja.Map{}
	for rest = strings.TrimSpace(rest); !strings.HasPrefix(rest, ")"); rest = strings.TrimLeft(rest, ", ") {
		key, value, found := strings.Cut(rest, "=")
		d := json.NewDecoder(strings.NewReader(value))
		var raw json.RawMessage
		if err := d.Decode(&raw); !found || err != nil {
			return nil, fmt.Errorf("the arguments of %s.call are not key=\"value\"", name)
		}
		v, err := jinja.DecodeJSON(raw)
		if err != nil {
			return nil, err
		}
		arguments.Set(strings.TrimSpace(key), v)
		rest = value[d.InputOffset():]
	}
	if strings.TrimSpace(rest) != ")" {
		return nil, fmt.Errorf("something follows %s.call(…)", name)
	}
	return newCall(name, arguments), nil
}
