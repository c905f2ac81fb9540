package chat

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

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

// closeCall takes the end of a call, which may be missing at the end of the text.
func closeCall(text, what string) (after string, err error) {
	text = strings.TrimLeft(text, blank)
	after, closed := strings.CutPrefix(text, callClose)
	if !closed && text != "" {
		return text, fmt.Errorf("there is text between %s and %s", what, callClose)
	}
	return after, nil
}
