package chat

import (
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// The marks within a call that is not JSON.
const (
	functionOpen   = "<function="
	functionClose  = "</function>"
	parameterOpen  = "<parameter="
	parameterClose = "</parameter>"
	keyOpen        = "<arg_key>"
	keyClose       = "</arg_key>"
	valueOpen      = "<arg_value>"
	valueClose     = "</arg_value>"
)

const blank = " \t\r\n"

// functionCall takes a call in Qwen3-Coder's style behind <tool_call>, with its end: <function=NAME>, any number of
// <parameter=KEY>VALUE</parameter>, </function> and </tool_call>, which may be missing at the end of the text. One
// newline at each end of a value is not part of it.
func functionCall(text string, tools jinja.List) (call *jinja.Map, after string, err error) {
	name, rest, err := cutName(text, functionOpen)
	if err != nil {
		return nil, text, err
	}
	schema, arguments := schemaOf(tools, name), &jinja.Map{}
	for {
		rest = strings.TrimLeft(rest, blank)
		if after, closed := strings.CutPrefix(rest, functionClose); closed {
			after, err := closeCall(after, functionClose)
			return newCall(name, arguments), after, err
		}
		var key, value string
		if key, rest, err = cutName(rest, parameterOpen); err != nil {
			return nil, text, err
		}
		if value, rest, err = cutValue(rest, parameterClose, parameterOpen, functionClose); err != nil {
			return nil, text, fmt.Errorf("the parameter %s: %w", key, err)
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		arguments.Set(key, typed(value, schema.kindsOf(key), false))
	}
}

// pairsCall takes a call in the style of GLM-4.5 behind <tool_call>, with its end: the name, any number of
// <arg_key>KEY</arg_key><arg_value>VALUE</arg_value>, and </tool_call>, without which a call may be cut off.
func pairsCall(text string, tools jinja.List) (call *jinja.Map, after string, err error) {
	at := strings.IndexByte(text, '<')
	if at < 0 {
		return nil, text, fmt.Errorf("no %s", callClose)
	}
	name, rest := strings.TrimSpace(text[:at]), text[at:]
	if !isName(name) {
		return nil, text, fmt.Errorf("%.40q is not the name of a tool", name)
	}
	schema, arguments := schemaOf(tools, name), &jinja.Map{}
	for {
		rest = strings.TrimLeft(rest, blank)
		if after, closed := strings.CutPrefix(rest, callClose); closed {
			return newCall(name, arguments), after, nil
		}
		inside, is := strings.CutPrefix(rest, keyOpen)
		key, behind, closed := strings.Cut(inside, keyClose)
		key = strings.TrimSpace(key)
		behind, hasValue := strings.CutPrefix(strings.TrimLeft(behind, blank), valueOpen)
		if !is || !closed || !hasValue || key == "" || strings.ContainsAny(key, "<>\n") {
			return nil, text, fmt.Errorf("neither %s nor a key with a value: %.40q", callClose, rest)
		}
		var value string
		if value, rest, err = cutValue(behind, valueClose, keyOpen, callClose); err != nil {
			return nil, text, fmt.Errorf("the argument %s: %w", key, err)
		}
		arguments.Set(key, typed(value, schema.kindsOf(key), true))
	}
}

// cutName cuts off the name between open and ">".
func cutName(text, open string) (name, rest string, err error) {
	inside, is := strings.CutPrefix(strings.TrimLeft(text, blank), open)
	name, rest, closed := strings.Cut(inside, ">")
	if name = strings.TrimSpace(name); !is || !closed || !isName(name) {
		return "", text, fmt.Errorf("no %sNAME>: %.40q", open, text)
	}
	return name, rest, nil
}

// isName reports whether a text may be the name of a tool or a parameter.
func isName(s string) bool { return s != "" && !strings.ContainsAny(s, blank+`<>{}"'`) }

// cutValue cuts text at an end mark that one of the marks follows. A value may contain the end mark elsewhere.
func cutValue(text, end string, next ...string) (value, rest string, err error) {
	for at := 0; ; {
		i := strings.Index(text[at:], end)
		if i < 0 {
			return "", text, fmt.Errorf("no %s", end)
		}
		value, at = text[:at+i], at+i+len(end)
		rest = strings.TrimLeft(text[at:], blank)
		for _, mark := range next {
			if strings.HasPrefix(rest, mark) {
				return value, rest, nil
			}
		}
	}
}
