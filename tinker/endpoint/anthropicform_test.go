package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// The same prompt, parameters and seed give the same tokens, logprob bits and text over chats, messages and
// generations, whole or streamed.
func TestAllInterfacesSayTheSame(t *testing.T) {
	m := newTiny(t)
	const same = `"model":"tiny","max_tokens":40,"seed":-5,"temperature":1.3,"top_p":0.95,"min_p":0.001,"top_k":90`
	const turns = `,"messages":[{"role":"user","content":"What is 3 + 4?"}],"logprobs":true,"return_token_ids":true`
	chat := decodeAnswer(t, ask(t, m, "chat", "{"+same+turns+"}").Body.String())
	if chat.Error != nil {
		t.Fatalf("%+v", chat.Error)
	}
	c := chat.Choices[0]
	want := fmt.Sprint(chat.PromptIDs, c.TokenIDs)
	var bits []float32
	for _, x := range c.Logprobs.Content {
		bits = append(bits, x.Logprob)
	}
	if len(bits) != len(c.TokenIDs) || len(bits) < 5 {
		t.Fatalf("%d logprobs of %d tokens", len(bits), len(c.TokenIDs))
	}
	for _, stream := range []bool{false, true} {
		body := fmt.Sprintf(`{%s%s,"stream":%v}`, same, turns, stream)
		got := message(t, m, body)
		text := "text|" + c.Message.Content + "\n"
		if c.Message.Reasoning != "" {
			text = "thinking|" + c.Message.Reasoning + "\n" + text
		}
		text += map[string]string{"stop": "end_turn", "length": "max_tokens"}[c.Finish]
		if fmt.Sprint(got.PromptIDs, got.TokenIDs) != want || !slices.Equal(got.Logprobs.bits(), bits) ||
			got.said() != text || got.Usage["output_tokens"] != len(bits) {
			t.Errorf("message, stream %v: %+v\n%q, want\n%s %v\n%q", stream, got, got.said(), want, bits, text)
		}
		ids := string(param.Encoded(chat.PromptIDs))
		gen := generation(t, m, fmt.Sprintf(`{"model":"tiny","token_ids":%s,"stream":%v,"sampling_params":
			{%s,"logprobs":1}}`, ids, stream, strings.TrimPrefix(same, `"model":"tiny",`)))
		if gen.Error != nil {
			t.Fatalf("%+v", gen.Error)
		}
		if x := gen.Choices[0]; !slices.Equal(x.TokenIDs, c.TokenIDs) || !slices.Equal(x.Logprobs.bits(), bits) ||
			x.Finish != c.Finish {
			t.Errorf("generation, stream %v: %+v, want %v %v", stream, x, c.TokenIDs, bits)
		}
	}
}

const twoCalls = "I add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"b\": 1, \"a\": \"<\"}}\n</tool_call>\n" +
	"<tool_call>\n{\"name\": \"sub\", \"arguments\": {}}\n</tool_call>"

const twoTools = `"tools":[{"name":"add","description":"adds","input_schema":{"type":"object","properties":` +
	`{"b":{},"a":{}}},"cache_control":{"type":"ephemeral"}},{"type":"custom","name":"sub","input_schema":{}}]`

// The blocks of a message, whole and streamed.
func TestMessageBlocks(t *testing.T) {
	const add, sub = `tool_use|add{"a":"\u003c","b":1}` + "\n", "tool_use|sub{}\n"
	for _, c := range []struct{ name, said, more, want string }{
		{"text", "Hello", ``, "text|Hello\nend_turn"},
		{"nothing", "", ``, "end_turn"},
		{"thoughts", "<think>\nHm.\n</think>\n\nHello", ``, "thinking|Hm.\ntext|Hello\nend_turn"},
		{"thoughts alone", "<think>Hm.", ``, "thinking|Hm.\nend_turn"},
		{"begun thoughts", "Hm.\n</think>\n\nHello", `,"chat_template_kwargs":{"thinking":true}`,
			"thinking|Hm.\ntext|Hello\nend_turn"},
		{"stop sequence", "Hello there", `,"stop_sequences":["the","th","o t"]`, "text|Hell\nstop_sequence o t"},
		{"the shorter of two", "Hello there", `,"stop_sequences":["the","th"]`, "text|Hello \nstop_sequence th"},
		{"the first to end", "äba", `,"stop_sequences":["b","äba"]`, "text|ä\nstop_sequence b"},
		{"the longer to end", "xab", `,"stop_sequences":["b","ab"]`, "text|x\nstop_sequence ab"},
		{"no tools", twoCalls, ``, "text|" + twoCalls + "\nend_turn"},
		{"calls", "<think>x</think>" + twoCalls, "," + twoTools,
			"thinking|x\ntext|I add.\n" + add + sub + "tool_use"},
		{"text after a call", strings.Replace(twoCalls, "</tool_call>\n", "</tool_call>\nand ", 1),
			"," + twoTools, "text|I add.\nand \n" + add + sub + "tool_use"},
		{"one " +
			"call", twoCalls,
			"," + twoTools + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
			"text|I add.\n" + add + "tool_use"},
		{"none", "Hello", "," + twoTools + `,"tool_choice":{"type":"none"}`, "text|Hello\nend_turn"},
		{"any", `sub", "arguments": {}}` + "\n</tool_call>", "," + twoTools + `,"tool_choice":{"type":"any"}`,
			sub + "tool_use"},
		{"tool", `{}}`, "," + twoTools + `,"tool_choice":{"type":"tool","name":"sub"}`, sub + "tool_use"},
	} {
		m, _ := tools(t, c.said)
		body := `{"model":"tiny","max_tokens":99,"messages":[{"role":"user","content":"Hi"}]` + c.more
		whole, stream := message(t, m, body+"}"), message(t, m, body+`,"stream":true}`)
		if whole.said() != c.want || stream.said() != c.want {
			t.Errorf("%s: whole %q, stream %q, want %q (%+v)", c.name, whole.said(), stream.said(), c.want, whole.Error)
		}
		for i, b := range whole.Content {
			if b.Type == "thinking" && (len(b.Signature) != 64 || stream.Content[i].Signature != b.Signature) {
				t.Errorf("%s: signature %q, of the stream %q", c.name, b.Signature, stream.Content[i].Signature)
			}
			if b.Type == "tool_use" && !strings.HasPrefix(b.ID, "toolu_") {
				t.Errorf("%s: id %q", c.name, b.ID)
			}
		}
		if fmt.Sprint(whole.Usage) != fmt.Sprint(stream.Usage) || whole.Usage["input_tokens"] == 0 {
			t.Errorf("%s: usage %v, of the stream %v", c.name, whole.Usage, stream.Usage)
		}
		if whole.Type != "message" || whole.Role != "assistant" || whole.Model != "tiny" ||
			!strings.HasPrefix(whole.ID, "msg_") || stream.Role != "assistant" {
			t.Errorf("%s: %+v", c.name, whole)
		}
	}
}

// Calls that are no JSON are objects all the same, with the types that the tools have.
func TestTaggedCallsInMessages(t *testing.T) {
	functions := strings.Replace(toolTemplate, "<tool_call>", "<tool_call><function=a><parameter=b>", 1)
	m, _ := toolsOf(t, functions, "Well.\n<tool_call>\n<function=add>\n<parameter=n>\n7\n</parameter>\n"+
		"<parameter=s>\n7\n</parameter>\n</function>\n</tool_call>")
	const schema = `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}}}`
	for _, stream := range []bool{false, true} {
		got := message(t, m, fmt.Sprintf(`{"model":"tiny","max_tokens":99,"stream":%v,"messages":[{"role":"user",
			"content":"Hi"}],"tools":[{"name":"add","input_schema":%s}]}`, stream, schema))
		if want := "text|Well.\ntool_use|add" + `{"n":7,"s":"7"}` + "\ntool_use"; got.said() != want {
			t.Errorf("message, stream %v: %q, want %q", stream, got.said(), want)
		}
		r := response(t, m, fmt.Sprintf(`{"model":"tiny","stream":%v,"input":"Hi","tools":[{"type":"function",
			"name":"add","parameters":%s}]}`, stream, schema))
		if want := "message completed|output_text Well.\nfunction_call completed|add" + `{"n":7,"s":"7"}` +
			"\ncompleted"; r.said() != want {
			t.Errorf("response, stream %v: %q, want %q", stream, r.said(), want)
		}
	}
}
