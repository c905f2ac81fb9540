package dataset

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

// rendered shows each member that a template sees of each message.
func rendered(t *testing.T, messages []chat.Message) string {
	t.Helper()
	const shown = `{% for m in messages %}[{% for k, v in m.items() %}{{ k }}={{ v | tojson }};{% endfor %}]` +
		`{% endfor %}`
	template, err := chat.New(shown, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := template.Render(messages, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Messages keep calls, thoughts, names and ids for the template. A null is nothing, except as the content beside calls,
// and so is an empty list of calls.
func TestMembersOfMessages(t *testing.T) {
	const (
		call = `{"role":"assistant","content":null,"reasoning_content":"add","tool_calls":[{"id":"a1","function":` +
			`{"name":"add","arguments":{"y":2,"x":3.0}}}]}`
		list = `[{"role":"user","content":"2+3?","name":"ann","weight":null},` + call +
			`,{"role":"tool","content":"5","tool_call_id":"a1"},{"role":"assistant","tool_calls":[{"id":"a2"}]},` +
			`{"role":"assistant","content":"","tool_calls":[]}]`
		user   = `[role="user";content="2+3?";name="ann";]`
		called = `[role="assistant";content=null;reasoning_content="add";tool_calls=[{"id": "a1", "function": ` +
			`{"name": "add", "arguments": {"y": 2, "x": 3.0}}}];]`
		rest = `[role="tool";content="5";tool_call_id="a1";][role="assistant";content=null;` +
			`tool_calls=[{"id": "a2"}];][role="assistant";content="";]`
	)
	quoted, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, folder(t, "train.jsonl", `{"list":`+list+`,"text":`+string(quoted)+`,"q":"2+3?","call":`+call+
		`,"far":[{"role":"user","content":"","id":99999999999999999999}]}`), "", "train")
	for _, key := range []string{"list", "text"} {
		got, err := Format{MessagesKey: key}.Messages(s, 0)
		if text := rendered(t, got); err != nil || text != user+called+rest {
			t.Errorf("%s: %v\n%s\nwant\n%s", key, err, text, user+called+rest)
		}
	}
	p, err := Format{PromptKey: "q", ChosenKey: "call", RejectedKey: "list"}.Pair(s, 0)
	if err != nil || rendered(t, p.Chosen) != called || rendered(t, p.Rejected) != called+rest {
		t.Errorf("a pair is %s and %s, %v", rendered(t, p.Chosen), rendered(t, p.Rejected), err)
	}
	_, err = Format{MessagesKey: "far"}.Messages(s, 0)
	wantMessage(t, err, []string{`column "far": message 0: id: `, "train.jsonl:1"})
}

// The rows of a parquet file have every member of any message, most of them null; an empty list of calls is nothing.
func TestMembersOfParquet(t *testing.T) {
	got, err := Format{MessagesKey: "messages"}.Messages(open(t, "testdata/nested.parquet", "", ""), 3)
	const want = `[role="user";content="3:0 ü";][role="assistant";content="3:1 ü";]` +
		`[role="user";content=null;tool_calls=[{"name": "f0", "n": -1}];]`
	if text := rendered(t, got); err != nil || text != want {
		t.Errorf("%s, %v, want\n%s", text, err, want)
	}
}

// The template of Llama 3.2 takes only one call at a time, and raises where a message has a list of none.
func TestEmptyToolCallsForLlama(t *testing.T) {
	text, err := os.ReadFile("../../hf/jinja/testdata/llama32.jinja")
	if err != nil {
		t.Fatal(err)
	}
	template, err := chat.New(string(text), nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, folder(t, "train.jsonl", `{"messages":[{"role":"user","content":"2+3?","tool_calls":[]},`+
		`{"role":"assistant","content":"5","tool_calls":[]}]}`), "", "train")
	messages, err := Format{MessagesKey: "messages"}.Messages(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := template.Render(messages, chat.Options{})
	if err != nil || !strings.HasSuffix(got, "<|end_header_id|>\n\n5<|eot_id|>") {
		t.Errorf("%v\n%s", err, got)
	}
}
