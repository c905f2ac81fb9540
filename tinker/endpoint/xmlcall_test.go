package endpoint

import (
	"strings"
	"testing"
)

// typedBody has tools whose parameters have types.
const typedBody = `{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function",` +
	`"function":{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"integer"},` +
	`"s":{"type":"string"}}}}},{"type":"function","function":{"name":"sub","parameters":{}}}]`

// Calls that are not JSON: in the styles of Qwen3-Coder and of GLM-4.5, which the template shows.
func TestXMLToolCalls(t *testing.T) {
	const sub = `,"tool_choice":{"type":"function","function":{"name":"sub"}}`
	styled := func(marks string) string { return strings.Replace(toolTemplate, "<tool_call>", marks, 1) }
	functions := styled("<tool_call><function=a><parameter=b>")
	two := "I add.\n<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n<parameter=s>\n2\n</parameter>\n" +
		"</function>\n</tool_call>\n<tool_call>\n<function=sub>\n</function>\n</tool_call>"
	for _, c := range []called{
		{"functions", two, "", "I add.", `add {"a":1,"s":"2"} sub {} `, "", "tool_calls"},
		{"functions, not parallel", two, `,"parallel_tool_calls":false`, "I add.", `add {"a":1,"s":"2"} `, "",
			"tool_calls"},
		{"functions, required", "add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
			`,"tool_choice":"required"`, "", `add {"a":1} `, "<tool_call>\n<function=", "tool_calls"},
		{"functions, named", "</function>\n</tool_call>", sub, "", "sub {} ", "<tool_call>\n<function=sub>\n",
			"tool_calls"},
		{"functions, malformed", "<tool_call>\n<function=add>\n</tool_call>", "",
			"<tool_call>\n<function=add>\n</tool_call>", "", "", "stop"},
	} {
		m, asked := toolsOf(t, functions, c.said)
		c.check(t, m, asked, typedBody+c.more)
	}
	pairs := styled("<tool_call><arg_key><arg_value>")
	two = "I add.\n<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>s</arg_key>\n" +
		"<arg_value>2</arg_value>\n</tool_call>\n<tool_call>sub\n</tool_call>"
	for _, c := range []called{
		{"pairs", two, "", "I add.", `add {"a":1,"s":"2"} sub {} `, "", "tool_calls"},
		{"pairs, required", "add\n<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
			`,"tool_choice":"required"`, "", `add {"a":1} `, "<tool_call>", "tool_calls"},
		{"pairs, named", "</tool_call>", sub, "", "sub {} ", "<tool_call>sub\n", "tool_calls"},
		{"pairs, malformed", "<tool_call>add", "", "<tool_call>add", "", "", "stop"},
	} {
		m, asked := toolsOf(t, pairs, c.said)
		c.check(t, m, asked, typedBody+c.more)
	}
}
