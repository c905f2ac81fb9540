package endpoint

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// A chat template without tools cannot render them. Then tools, calls and their results are put into the messages, in
// the form of Hermes (https://github.com/NousResearch/Hermes-Function-Calling), which many models have seen.
const (
	genericNote  = "the model's chat template has no tools: they are described in a message"
	genericIntro = "You can use the functions below, given as JSON. To call one, answer with its name and arguments " +
		"as JSON between marks:\n<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"KEY\": \"VALUE\"}}\n</tool_call>\n"
)

// genericMessages are messages with the tools in their text: in the system's message, or in the first one if the
// template knows no system.
func genericMessages(messages []chat.Message, tools jinja.List, system bool) []chat.Message {
	var text strings.Builder
	text.WriteString(genericIntro)
	for _, t := range tools {
		text.WriteString("\n" + speech.ToJSON(t))
	}
	var out []chat.Message
	for i, m := range messages {
		switch {
		case m.Role == "tool":
			m = chat.Message{Role: "user", Content: "<tool_response>\n" + m.Content + "\n</tool_response>"}
			if last := len(out) - 1; last >= 0 && messages[i-1].Role == "tool" {
				out[last].Content += "\n" + m.Content
				continue
			}
		case len(m.ToolCalls) > 0:
			m.Content, m.ToolCalls = m.Content+genericCalls(m.ToolCalls), nil
		}
		out = append(out, m)
	}
	switch {
	case out[0].Role == "system" || !system:
		out[0].Content = strings.TrimSuffix(text.String()+"\n\n"+out[0].Content, "\n\n")
		return out
	}
	return append([]chat.Message{{Role: "system", Content: text.String()}}, out...)
}

// genericCalls are calls as the model wrote them.
func genericCalls(calls jinja.List) (text string) {
	for _, v := range calls {
		call, _ := v.(*jinja.Map)
		if call == nil {
			continue
		}
		f, _ := call.Get("function")
		function, _ := f.(*jinja.Map)
		if function == nil {
			continue
		}
		name, _ := function.Get("name")
		arguments, _ := function.Get("arguments")
		text += "\n" + speech.CallOpen + "\n{\"name\": " + speech.ToJSON(name) + ", \"arguments\": " +
			speech.ToJSON(arguments) + "}\n" + speech.CallClose
	}
	return text
}
