package speech

import (
	"encoding/json"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/grammar"
)

// Tool is a tool that a model is offered.
type Tool struct {
	Name       string
	Parameters json.RawMessage // its JSON schema; nil for none
}

// mostCalls bounds the calls of one answer that must have a call: a model that has lost its way repeats them.
const mostCalls = 8

// CallForm is calls of tools in a style, each written as CallBegin begins it: one, or several one after the other.
// Arguments follow the tool's schema; where a grammar cannot hold it, they are any JSON, or any text.
func CallForm(style chat.CallStyle, tools []Tool, one bool) *grammar.Node {
	any := grammar.Alt()
	for _, t := range tools {
		any = grammar.Alt(any, callForm(style, t))
	}
	if one || !style.Tagged() {
		return any
	}
	return grammar.Seq(any, grammar.Repeat(grammar.Seq(grammar.Text("\n"), any), 0, mostCalls-1))
}

func callForm(style chat.CallStyle, t Tool) *grammar.Node {
	end := "}"
	switch style {
	case chat.FunctionCalls:
		return tagged(t, CallBegin(style, t.Name), "<parameter=", ">\n", "\n</parameter>\n", "</function>\n"+CallClose)
	case chat.PairCalls:
		return tagged(t, CallBegin(style, t.Name), "<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n", CallClose)
	case chat.QwenCalls:
		end += "\n" + CallClose
	case chat.HarmonyCalls:
		end = ""
	}
	arguments := grammar.Object()
	if t.Parameters != nil {
		if own, err := grammar.Arguments(t.Parameters); err == nil {
			arguments = own
		}
	}
	return grammar.Seq(grammar.Text(CallBegin(style, t.Name)), arguments, grammar.Text(end))
}

// tagged is a call whose arguments stand between marks: a text as it is, any other value as JSON.
func tagged(t Tool, begin, key, value, after, end string) *grammar.Node {
	list, err := grammar.Properties(t.Parameters)
	if err != nil {
		return grammar.Seq(grammar.Text(begin), grammar.Until(end))
	}
	n := grammar.Text(end)
	for _, p := range slices.Backward(list) {
		said := grammar.Until(after)
		if p.Plain != nil {
			said = grammar.Seq(p.Plain, grammar.Text(after))
		}
		with := grammar.Seq(grammar.Text(key+p.Name+value), said, n)
		if p.Required {
			n = with
		} else {
			n = grammar.Alt(with, n)
		}
	}
	return grammar.Seq(grammar.Text(begin), n)
}
