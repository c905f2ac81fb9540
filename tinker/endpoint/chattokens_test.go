package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func chatTokens(a *API) handler { return a.ChatTokens }

// withTokens is a chat's body with the ids of its prompt.
func withTokens(body string, ids []int32) string {
	raw, _ := json.Marshal(ids)
	return fmt.Sprintf(`%s,"tokens":%s}`, strings.TrimSuffix(body, "}"), raw)
}

// A chat whose prompt is given as the ids that the chat itself has is the same chat, whole and streamed.
func TestChatTokensSayWhatChatsSay(t *testing.T) {
	m := newTiny(t)
	const body = `{"model":"tiny","seed":3,"max_tokens":40,"logprobs":true,"return_token_ids":true,"messages":[` +
		`{"role":"user","content":"What is 3 + 4?"}]`
	want := decodeAnswer(t, ask(t, m, "chat", body+"}").Body.String())
	w := sends(t, m, chatTokens, withTokens(body+"}", want.PromptIDs))
	got := decodeAnswer(t, w.Body.String())
	if len(got.Choices) != 1 ||
		fmt.Sprintf("%+v", got.Choices[0].Message) != fmt.Sprintf("%+v", want.Choices[0].Message) ||
		!slices.Equal(got.Choices[0].TokenIDs, want.Choices[0].TokenIDs) ||
		!slices.Equal(got.PromptIDs, want.PromptIDs) ||
		fmt.Sprint(got.Choices[0].Logprobs.Content) != fmt.Sprint(want.Choices[0].Logprobs.Content) {
		t.Errorf("%s, want %+v", w.Body, want)
	}
	said, ids := "", []int32{}
	for _, e := range eventsOf(t, sends(t, m, chatTokens, withTokens(body+`,"stream":true}`, want.PromptIDs))) {
		for _, c := range e.Choices {
			said, ids = said+c.Delta.Reasoning+c.Delta.Content, append(ids, c.TokenIDs...)
		}
	}
	if m := want.Choices[0].Message; said != m.Reasoning+m.Content || !slices.Equal(ids, want.Choices[0].TokenIDs) {
		t.Errorf("the stream says %q %v, want %q %v", said, ids, m.Reasoning+m.Content, want.Choices[0].TokenIDs)
	}
}

// The prompt is the ids, whatever the messages say, and the answer's calls are read by the tools.
func TestChatTokensAreThePrompt(t *testing.T) {
	m, asked := tools(t, twoCalls)
	ids := m.Text.Tokenizer.Encode("anything", false)
	a := decodeAnswer(t, sends(t, m, chatTokens, withTokens(toolBody+"}", ids)).Body.String())
	if got, _ := asked.Prompt.Tokens(); !slices.Equal(got, ids) {
		t.Errorf("the prompt is %v, want %v", got, ids)
	}
	if len(a.Choices) != 1 || len(a.Choices[0].Message.ToolCalls) != 2 || a.Choices[0].Finish != "tool_calls" {
		t.Errorf("%+v", a)
	}
	m, _ = tools(t, "Hm.\n</think>\n\nHello")
	ids = m.Text.Tokenizer.Encode("Hi<think>\n", false)
	a = decodeAnswer(t, sends(t, m, chatTokens, withTokens(toolBody+"}", ids)).Body.String())
	if len(a.Choices) != 1 || a.Choices[0].Message.Reasoning != "Hm." || a.Choices[0].Message.Content != "Hello" {
		t.Errorf("a prompt that ends within a thought: %+v", a)
	}
	for body, text := range map[string]string{
		toolBody + "}": "tokens is missing", toolBody + `,"tokens":[]}`: "tokens is missing",
		toolBody + `,"tokens":"abc"}`:                            "not a list of token ids",
		toolBody + `,"tokens":[1,-1]}`:                           "tokens[1] is -1",
		toolBody + `,"tokens":[999999999]}`:                      "tokens[0] is 999999999",
		`{"model":"tiny","tokens":[1]}`:                          "messages",
		toolBody + `,"tokens":[1],"tool_choice":"required"}`:     "tool_choice",
		toolBody + `,"tokens":[1],"nome":1}`:                     "Unrecognized request argument supplied: nome",
		toolBody + `,"tokens":[1],"frequency_penalty":5}`:        "frequency_penalty",
		toolBody + `,"tokens":[1],"prompt":"a"}`:                 "prompt",
		`{"model":"absent","tokens":[1],"messages":[{"a":"b"}]}`: "absent",
	} {
		w := sends(t, m, chatTokens, body)
		e := decodeAnswer(t, w.Body.String()).Error
		if e == nil || w.Code >= 500 || !strings.Contains(e.Message, text) {
			t.Errorf("%s: %d %s, want %q", body, w.Code, w.Body, text)
		}
	}
}

// FuzzChatTokens: no body makes a panic, an answer that is not JSON or events, or a fault of the server.
func FuzzChatTokens(f *testing.F) {
	f.Add(toolBody + `,"tokens":[1,2,3]}`)
	f.Add(toolBody + `,"tokens":[1],"stream":true,"n":2}`)
	m, _ := tools(f, `<think>a</think>b<tool_call>{"name":"add","arguments":{}}`, "c")
	f.Fuzz(func(t *testing.T, body string) {
		w := sends(t, m, chatTokens, body)
		switch {
		case w.Code >= 500:
			t.Fatalf("%d %s", w.Code, w.Body)
		case w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"):
			eventsOf(t, w)
		default:
			decodeAnswer(t, w.Body.String())
		}
	})
}
