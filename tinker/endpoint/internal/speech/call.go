package speech

import (
	"encoding/json"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// CallBegin is the beginning of a call in a style, with the name of the tool if there is one. A model that continues it
// calls a tool.
func CallBegin(style chat.CallStyle, name string) string {
	begin, arguments := `{"name": `, `"parameters": `
	switch style {
	case chat.HarmonyCalls:
		if name != "" {
			name += " <|constrain|>json" + chat.HarmonyMessage
		}
		return "<|channel|>commentary to=functions." + name
	case chat.FunctionCalls:
		if name != "" {
			name += ">\n"
		}
		return CallOpen + "\n<function=" + name
	case chat.PairCalls:
		if name != "" {
			name += "\n"
		}
		return CallOpen + name
	case chat.QwenCalls:
		begin, arguments = CallOpen+"\n"+begin, `"arguments": `
	}
	if name == "" {
		return begin + `"`
	}
	return begin + ToJSON(name) + ", " + arguments
}

// ToJSON is a value as JSON, with the keys in their order.
func ToJSON(v jinja.Value) string {
	switch x := v.(type) {
	case *jinja.Map:
		var parts []string
		for key, value := range x.All() {
			parts = append(parts, ToJSON(key)+":"+ToJSON(value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case jinja.List:
		parts := make([]string, len(x))
		for i, value := range x {
			parts[i] = ToJSON(value)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
