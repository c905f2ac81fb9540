package dataset

import (
	"reflect"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

func TestTask(t *testing.T) {
	s := open(t, folder(t, "train.jsonl", `{"question":"1+1?","answer":2,"reward":"countdown_reward"}
{"question":"x","answer":{"target":3,"numbers":[1,2]},"wf":null}
{"question":"","answer":"#### 5"}
`), "", "train")
	f := Format{PromptKey: "question", ResponseKey: "answer", WorkflowKey: "wf", RewardFnKey: "reward"}
	want := []Task{
		{Index: 0, Epoch: 4, Prompt: "1+1?", Truth: "2", RewardFn: "countdown_reward"},
		{Index: 1, Epoch: 4, Prompt: "x", Truth: `{"target":3,"numbers":[1,2]}`},
		{Index: 2, Epoch: 4, Prompt: "", Truth: "#### 5"},
	}
	for i := range want {
		got, err := f.Task(s, Item{Index: i, Epoch: 4})
		if err != nil {
			t.Fatal(err)
		}
		got.Row = nil
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("row %d: got %+v, want %+v", i, got, want[i])
		}
	}
}

// A null question or answer is refused by file and line in every format: it is not an empty text.
func TestNulls(t *testing.T) {
	both := Format{Section: "taskset.format", PromptKey: "q", ResponseKey: "a", ChosenKey: "c", RejectedKey: "r",
		SystemPromptKey: "s"}
	s := open(t, folder(t, "train.jsonl", `{"q":"1+1?","a":"2","s":null,"c":"2","r":"3"}
{"q":null,"a":"2","s":null,"c":"2","r":"3"}
{"q":"1+1?","a":null,"s":null,"c":null,"r":"3"}
{"q":"1+1?","a":null,"s":null,"c":"2","r":null}`), "", "train")
	if _, err := both.Task(s, Item{}); err != nil {
		t.Error(err)
	}
	question := []string{"train.jsonl:2", `column "q" is null`, "remove it", "taskset.format.prompt_key"}
	answer := []string{"train.jsonl:3", `column "a" is null`, "taskset.format.response_key"}
	_, err := both.Task(s, Item{Index: 1})
	wantMessage(t, err, question)
	_, err = both.Task(s, Item{Index: 2})
	wantMessage(t, err, answer)
	_, err = both.Messages(s, 1)
	wantMessage(t, err, question)
	_, err = both.Messages(s, 2)
	wantMessage(t, err, answer)
	_, err = both.Pair(s, 1)
	wantMessage(t, err, question)
	_, err = both.Pair(s, 2)
	wantMessage(t, err, []string{"train.jsonl:3", `column "c" is null`, "taskset.format.chosen_key"})
	_, err = both.Pair(s, 3)
	wantMessage(t, err, []string{"train.jsonl:4", `column "r" is null`, "taskset.format.rejected_key"})
	loose := both
	loose.Loose = true
	for i := range 4 {
		if _, err := loose.Task(s, Item{Index: i}); err != nil {
			t.Errorf("a workflow that reads other columns: row %d: %v", i, err)
		}
	}
	list := open(t, folder(t, "train.json", `[{"q": "1", "a": "2"}, {"q": null, "a": "2"}]`), "", "train")
	_, err = both.Task(list, Item{Index: 1})
	wantMessage(t, err, []string{"train.json:1", `column "q" is null`})
	talk := open(t, folder(t, "train.jsonl",
		`{"m":[{"role":"user","content":null},{"role":"assistant","content":"2"}]}`), "", "train")
	_, err = Format{MessagesKey: "m"}.Messages(talk, 0)
	wantMessage(t, err, []string{"train.jsonl:1", `column "m": message 0: the content is null`})
}

func TestMissingColumn(t *testing.T) {
	s := open(t, folder(t, "train.jsonl", `{"query":"1","solution":"2"}`), "", "train")
	err := Format{Section: "buffer.explorer_input.taskset.format", PromptKey: "question"}.Check(s)
	wantMessage(t, err, []string{"train.jsonl:1", `no column "question"`, "query, solution",
		"buffer.explorer_input.taskset.format.prompt_key"})
	err = Format{PromptKey: "query", ResponseKey: "answer"}.Check(s)
	wantMessage(t, err, []string{`no column "answer"`, "response_key", `or to "" if the rows have no answers`})
	_, err = Format{MessagesKey: "messages"}.Messages(s, 0)
	wantMessage(t, err, []string{`no column "messages"`, "messages_key"})
	if err := (Format{PromptKey: "query", ResponseKey: "solution", WorkflowKey: "workflow"}).Check(s); err != nil {
		t.Errorf("a workflow column is optional: %v", err)
	}
}

func TestMessages(t *testing.T) {
	s := open(t, folder(t, "train.jsonl",
		`{"q":"1+1?","a":"2","sys":"Be brief.","list":[{"role":"user","content":"hi"},{"role":"assistant",`+
			`"content":"ho"}],"json":"[{\"role\":\"user\",\"content\":\"hi\"}]","bad":"[","odd":[{"role":"user"}],`+
			`"none":[],"parts":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],`+
			`"seen":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url",`+
			`"image_url":{"url":"u"}}]}],"shown":[{"type":"image","image":"i"}]}`), "", "train")
	turn := []chat.Message{{Role: "user", Content: "1+1?"}, {Role: "assistant", Content: "2"}}
	tests := []struct {
		name   string
		format Format
		want   []chat.Message
	}{
		{"prompt and response", Format{PromptKey: "q", ResponseKey: "a"}, turn},
		{"system prompt", Format{PromptKey: "q", ResponseKey: "a", SystemPrompt: "S"},
			append([]chat.Message{{Role: "system", Content: "S"}}, turn...)},
		{"the column wins", Format{PromptKey: "q", ResponseKey: "a", SystemPrompt: "S", SystemPromptKey: "sys"},
			append([]chat.Message{{Role: "system", Content: "Be brief."}}, turn...)},
		{"a list", Format{MessagesKey: "list"}, []chat.Message{{Role: "user", Content: "hi"},
			{Role: "assistant", Content: "ho"}}},
		{"parts of text", Format{MessagesKey: "parts"}, []chat.Message{{Role: "user", Content: "ab"}}},
		{"JSON text", Format{MessagesKey: "json"}, []chat.Message{{Role: "user", Content: "hi"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.format.Messages(s, 0)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
	for key, want := range map[string]string{"bad": "JSON list of messages", "odd": "role and content", "none": "empty",
		"q": "JSON list", "seen": "part 1 of the content is of type image_url; the models here read text only"} {
		_, err := Format{MessagesKey: key}.Messages(s, 0)
		wantMessage(t, err, []string{want, key, "train.jsonl:1"})
	}
	_, err := Format{PromptKey: "shown"}.Task(s, Item{})
	wantMessage(t, err, []string{`column "shown": part 0 of the content is of type image`, "train.jsonl:1"})
}

// FuzzOpen reads arbitrary bytes as each kind of file: errors are fine, panics are not.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n{}"), 0)
	f.Add([]byte("[{\"a\":1},2]"), 1)
	f.Add([]byte("a,b\n1,\"x\ny\"\n"), 2)
	f.Fuzz(func(t *testing.T, data []byte, ext int) {
		name := "train" + readable[((ext%3)+3)%3]
		s, err := Open(folder(t, name, string(data)), "", "train")
		if err != nil {
			return
		}
		defer s.Close()
		for i := range min(s.Len(), 20) {
			if _, err := s.Row(i); err == nil {
				_, _ = Format{MessagesKey: "a"}.Messages(s, i)
			}
		}
	})
}
