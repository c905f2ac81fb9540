package dataset

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
)

func TestPair(t *testing.T) {
	s := open(t, folder(t, "train.jsonl",
		`{"q":"1+1?","good":"2","bad":"3","talk":[{"role":"user","content":"hi"}],"one":{"role":"assistant",`+
			`"content":"ho"},"list":[{"role":"assistant","content":"ha"}],"json":"[{\"role\":\"assistant\",`+
			`\"content\":\"hm\"}]","bracket":"[1]","odd":[{"role":"user"}],"none":[],"whole":[{"role":"user",`+
			`"content":"1+1?"},{"role":"assistant","content":"2"}],"ruled":[`+
			`{"role":"system","content":"S"},{"role":"user","content":"1+1?\n"},`+
			`{"role":"assistant","content":"3"}],"turns":[{"role":"user","content":"1+1?"},`+
			`{"role":"assistant","content":"2"},{"role":"user","content":"Sure?"},{"role":"assistant",`+
			`"content":"Yes."}],"other":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"4"}],`+
			`"asked":[{"role":"user","content":"1+1?"}]}`), "", "train")
	user := []chat.Message{{Role: "user", Content: "1+1?"}}
	said := func(text string) []chat.Message { return []chat.Message{{Role: "assistant", Content: text}} }
	for _, tt := range []struct {
		name   string
		format Format
		want   Pair
	}{
		{"texts", Format{PromptKey: "q", ChosenKey: "good", RejectedKey: "bad"}, Pair{user, said("2"), said("3")}},
		{"system prompt", Format{PromptKey: "q", SystemPrompt: "S", ChosenKey: "good", RejectedKey: "bad"},
			Pair{[]chat.Message{{Role: "system", Content: "S"}, user[0]}, said("2"), said("3")}},
		{"messages", Format{MessagesKey: "talk", ChosenKey: "one", RejectedKey: "list"},
			Pair{[]chat.Message{{Role: "user", Content: "hi"}}, said("ho"), said("ha")}},
		{"JSON text, and text that only looks like it", Format{PromptKey: "q", ChosenKey: "json",
			RejectedKey: "bracket"}, Pair{user, said("hm"), said("[1]")}},
		{"whole conversations", Format{PromptKey: "q", ChosenKey: "whole", RejectedKey: "turns"},
			Pair{user, said("2"), []chat.Message{{Role: "assistant", Content: "2"}, {Role: "user", Content: "Sure?"},
				{Role: "assistant", Content: "Yes."}}}},
		{"whole conversations with and without the system prompt", Format{PromptKey: "q", SystemPrompt: "S",
			ChosenKey: "whole", RejectedKey: "ruled"}, Pair{[]chat.Message{{Role: "system", Content: "S"}, user[0]},
			said("2"), said("3")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.format.Pair(s, 0)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	_, err := Format{Section: "buffer.x.format", PromptKey: "q", ChosenKey: "chosen", RejectedKey: "bad"}.Pair(s, 0)
	wantMessage(t, err, []string{"train.jsonl:1", `no column "chosen"`, "buffer.x.format.chosen_key"})
	_, err = Format{PromptKey: "q", ChosenKey: "odd", RejectedKey: "bad"}.Pair(s, 0)
	wantMessage(t, err, []string{`column "odd"`, "message 0", "role and content"})
	_, err = Format{PromptKey: "q", ChosenKey: "good", RejectedKey: "none"}.Pair(s, 0)
	wantMessage(t, err, []string{`column "none"`, "empty list"})
	for key, format := range map[string]Format{"other": {PromptKey: "q"}, "asked": {PromptKey: "q"},
		"ruled": {PromptKey: "q"}, "whole": {MessagesKey: "talk"}} {
		format.ChosenKey, format.RejectedKey = key, "bad"
		_, err = format.Pair(s, 0)
		wantMessage(t, err, []string{"train.jsonl:1", fmt.Sprintf("column %q", key), "a whole conversation"})
	}
}
