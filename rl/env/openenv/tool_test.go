package openenv

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

// The tools of OpenEnv's echo environment are offered, and calls in every style of chat templates reach it. What it
// said was recorded.
func TestTools(t *testing.T) {
	id := openenvtest.Replay(t, "testdata/echo.jsonl", nil)
	s, _ := sourceFor(t)
	for _, c := range []struct{ answer, text string }{
		{`<tool_call>
{"name": "echo_message", "arguments": {"message": "hi"}}
</tool_call>`, "hi"},
		{"<think>\nlet me see\n</think>\n<tool_call>\n{\"name\": \"echo_with_length\", \"arguments\": {\"message\": " +
			"\"four\"}}\n</tool_call>", `{"message":"four","length":4}`},
		{`<tool_call>{"name": "echo_message", "arguments": {"message": "hi"}}</tool_call><tool_call>` +
			`{"name": "echo_with_length", "arguments": {"message": "four"}}</tool_call>`, "hi\n" +
			`{"message":"four","length":4}`},
		{"<tool_call>\n<function=echo_message>\n<parameter=message>\nhi\n</parameter>\n</function>\n</tool_call>",
			"hi"},
		{"<tool_call>echo_message\n<arg_key>message</arg_key>\n<arg_value>hi</arg_value>\n</tool_call>", "hi"},
		{`{"name": "echo_message", "parameters": {"message": "hi"}}`, "hi"},
		{`<tool_call>{"name": "nothing"}</tool_call>`, "Error (tool_not_found): Unknown tool: 'nothing'"},
		{`<tool_call>{"name": "echo_message", "arguments": {"message": 5}}</tool_call>`,
			"Error (execution_error): 1 validation error for call[echo_message]"},
		{`<tool_call>{"name": "echo_message"}</tool_call>`, "Error (invalid_args): 1 validation error"},
		{`<tool_call>{"name": "echo_message", </tool_call>`, "The call of a tool cannot be read"},
	} {
		e := makeEnv(t, s, id+"?invalid_reward=-0.25")
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		step, err := e.Step(c.answer)
		if err != nil || !strings.HasPrefix(step.Text, c.text) || step.Done() {
			t.Errorf("%q gets %+v, error %v; want %q", c.answer, step, err, c.text)
		}
		if wrong := strings.HasPrefix(c.text, "The call"); wrong != (step.Reward == -0.25) || wrong == step.Tool {
			t.Errorf("%q gets the reward %v, of a tool: %v", c.answer, step.Reward, step.Tool)
		}
		if step, err = e.Step("That is all."); err != nil || !step.Terminated || step.Reward != 0 {
			t.Errorf("an answer without a call gets %+v, error %v", step, err)
		}
	}
}

// A tool that was not reached is a fault of the environment; the player never hears of it.
func TestToolNotReached(t *testing.T) {
	id := openenvtest.Replay(t, "testdata/echo.jsonl", map[string]string{
		`{"type":"step","data":{"type":"call_tool","tool_name":"echo_message","arguments":{"message":"hi"}}}`: "" +
			`{"type":"observation","data":{"observation":{"metadata":{},"tool_name":"echo_message","result":null,` +
			`"error":{"error_type":"transport_error","message":"connection refused"}},"reward":null,"done":false}}`})
	s, _ := sourceFor(t)
	e := makeEnv(t, s, id)
	if _, err := e.Reset(1); err != nil {
		t.Fatal(err)
	}
	_, err := e.Step(`<tool_call>{"name": "echo_message", "arguments": {"message": "hi"}}</tool_call>`)
	if want := "did not reach its tool: connection refused"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A chat template of Qwen's form describes the tools and shows calls and results as it does in training, and what a
// model wrote is the text that it reads again. Without a chat template, the task says the same in words.
func TestToolsInTemplates(t *testing.T) {
	source, err := os.ReadFile("../../../hf/jinja/testdata/qwen3.jinja")
	if err != nil {
		t.Fatal(err)
	}
	template, err := chat.New(string(source), nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	id := openenvtest.Replay(t, "testdata/echo.jsonl", nil)
	s, _ := sourceFor(t)
	for names, want := range map[string][2]string{
		"concat_chat": {`<|im_start|>system
# Tools

<tools>
{"type": "function", "function": {"name": "echo_message", "description": "Echo back the provided message.", `,
			"<|im_end|>\n<|im_start|>user\n<tool_response>\nhi\n</tool_response><|im_end|>\n<|im_start|>assistant\n"},
		"concat_with_action": {`{"metadata":{"status":"ready","message":"Echo environment ready!"}}

You have these tools. Each line describes one:
{"type":"function","function":{"name":"echo_message","description":"Echo back the provided message.",`, "hi\n"},
	} {
		wrappers, err := env.Wrappers(names, template)
		if err != nil {
			t.Fatal(err)
		}
		e := env.Wrap(makeEnv(t, s, id), wrappers...)
		first, err := e.Reset(1)
		if err != nil || !strings.HasPrefix(first.Text, want[0]) {
			t.Errorf("%s: error %v, the task is %s", names, err, first.Text)
		}
		if n := strings.Count(first.Text, "Echo back the provided message."); n != 1 {
			t.Errorf("%s: a tool is described %d times", names, n)
		}
		call := `<tool_call>{"name": "echo_message", "arguments": {"message": "hi"}}</tool_call>`
		next, err := e.Step(call)
		if err != nil || !strings.HasSuffix(next.Text, want[1]) {
			t.Errorf("%s: error %v, then %s", names, err, next.Text)
		}
		if names == "concat_chat" && !strings.HasPrefix(next.Text, first.Text+call) {
			t.Errorf("what the model read and wrote does not begin what it reads next:\n%s\n\n%s", first.Text+call,
				next.Text)
		}
	}
}
