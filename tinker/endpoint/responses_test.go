package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// responseBody is what the tests read of a response.
type responseBody struct {
	ID, Object, Status, Model string
	Output                    []responseItem
	TokenIDs                  []int32                  `json:"token_ids"`
	PromptIDs                 []int32                  `json:"prompt_token_ids"`
	Incomplete                *struct{ Reason string } `json:"incomplete_details"`
	Usage                     *struct {
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		Details struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	Instructions *string
	Metadata     map[string]string
	Error        *struct{ Code, Message, Type, Param string }
}

type responseItem struct {
	ID, Type, Role, Status, Name, Arguments string
	CallID                                  string `json:"call_id"`
	Content                                 []responsePart
}

type responsePart struct {
	Type, Text string
	Logprobs   []responseLogprob
}

type responseLogprob struct {
	Token   string
	Logprob float32
	Bytes   []int
	Top     []struct {
		Token   string
		Logprob float32
	} `json:"top_logprobs"`
}

// said is a response as text: one line for each item and one for its end.
func (r *responseBody) said() string {
	var b strings.Builder
	for _, x := range r.Output {
		fmt.Fprintf(&b, "%s %s|%s%s", x.Type, x.Status, x.Name, x.Arguments)
		for _, c := range x.Content {
			b.WriteString(c.Type + " " + c.Text)
		}
		b.WriteByte('\n')
	}
	b.WriteString(r.Status)
	if r.Incomplete != nil {
		b.WriteString(" " + r.Incomplete.Reason)
	}
	return b.String()
}

func respond(a *API) handler { return a.Respond }

// response sends a body and reads the response, of a stream the one at its end.
func response(t testing.TB, m Models, body string) (out responseBody) {
	t.Helper()
	w := sends(t, m, respond, body)
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		return gatherResponse(t, w.Body.String())
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return out
}

// gatherResponse adds up the events of a response as clients do, and compares the sum with the response at the end.
func gatherResponse(t testing.TB, raw string) (out responseBody) {
	t.Helper()
	var sum []responseItem
	events := strings.Split(strings.TrimSuffix(raw, "\n\n"), "\n\n")
	for i, e := range events {
		head, data, ok := strings.Cut(e, "\ndata: ")
		var v struct {
			Type                   string
			Number                 int `json:"sequence_number"`
			Response               responseBody
			Item                   responseItem
			Index                  int    `json:"output_index"`
			ItemID                 string `json:"item_id"`
			Delta, Text, Arguments string
			Part                   responsePart
			Logprobs               []responseLogprob
		}
		if err := json.Unmarshal([]byte(data), &v); err != nil || !ok || head != "event: "+v.Type || v.Number != i {
			t.Fatalf("event %d: %v: %q", i, err, e)
		}
		if v.Index < len(sum) && v.ItemID != "" && sum[v.Index].ID != v.ItemID || v.Index > len(sum) {
			t.Fatalf("event %q of item %d after %+v", e, v.Index, sum)
		}
		switch kind := strings.TrimPrefix(v.Type, "response."); kind {
		case "created", "in_progress":
			out = v.Response
			if out.Status != "in_progress" || len(out.Output) != 0 {
				t.Fatalf("%q", e)
			}
		case "output_item.added":
			sum = append(sum, v.Item)
		case "content_part.added":
			sum[v.Index].Content = append(sum[v.Index].Content, v.Part)
		case "output_text.delta", "reasoning_text.delta":
			c := &sum[v.Index].Content[0]
			c.Text, c.Logprobs = c.Text+v.Delta, append(c.Logprobs, v.Logprobs...)
		case "function_call_arguments.delta":
			sum[v.Index].Arguments += v.Delta
		case "output_text.done", "reasoning_text.done", "content_part.done", "function_call_arguments.done":
			x := sum[v.Index]
			if x.Arguments != v.Arguments || len(x.Content) > 0 && x.Content[0].Text != v.Text+v.Part.Text ||
				len(x.Content) > 0 && len(x.Content[0].Logprobs) != len(v.Logprobs)+len(v.Part.Logprobs) {
				t.Fatalf("%q after %+v", e, x)
			}
		case "output_item.done":
			sum[v.Index].Status = v.Item.Status
			if !reflect.DeepEqual(sum[v.Index], v.Item) {
				t.Fatalf("%+v, in pieces %+v", v.Item, sum[v.Index])
			}
		case "completed", "incomplete", "failed":
			out = v.Response
			if out.Status != kind || len(sum)+len(out.Output) > 0 && !reflect.DeepEqual(sum, out.Output) ||
				i != len(events)-1 {
				t.Fatalf("%+v, in pieces %+v", out.Output, sum)
			}
		default:
			t.Fatalf("event %q", e)
		}
	}
	return out
}

const twoFunctions = `"tools":[{"type":"function","name":"add","description":"adds","parameters":{"type":"object",` +
	`"properties":{"b":{},"a":{}}},"strict":false},{"type":"function","name":"sub","parameters":{}}]`

// The items of a response, whole and streamed.
func TestResponseItems(t *testing.T) {
	const add, sub = "function_call completed|add{\"b\":1,\"a\":\"<\"}\n", "function_call completed|sub{}\n"
	for _, c := range []struct {
		name, said, more, want string
		thoughts               string // the part of said that is thought
	}{
		{"text", "Hello", ``, "message completed|output_text Hello\ncompleted", ""},
		{"nothing", "", ``, "completed", ""},
		{"thoughts", "<think>\nHm.\n</think>\n\nHello", ``,
			"reasoning completed|reasoning_text Hm.\nmessage completed|output_text Hello\ncompleted",
			"<think>\nHm.\n</think>"},
		{"begun thoughts", "Hm.\n</think>\n\nHello", `,"chat_template_kwargs":{"thinking":true}`,
			"reasoning completed|reasoning_text Hm.\nmessage completed|output_text Hello\ncompleted", "Hm.\n</think>"},
		{"calls", twoCalls, "," + twoFunctions,
			"message completed|output_text I add.\n" + add + sub + "completed", ""},
		{"one call", twoCalls, "," + twoFunctions + `,"parallel_tool_calls":false`,
			"message completed|output_text I add.\n" + add + "completed", ""},
		{"required", `sub", "arguments": {}}` + "\n</tool_call>", "," + twoFunctions + `,"tool_choice":"required"`,
			sub + "completed", ""},
		{"by name", `{}}`, "," + twoFunctions + `,"tool_choice":{"type":"function","name":"sub"}`,
			sub + "completed", ""},
	} {
		m, _ := tools(t, c.said)
		body := `{"model":"tiny","input":"Hi","metadata":{"a":"b"},"instructions":"Be brief."` + c.more
		whole, stream := response(t, m, body+"}"), response(t, m, body+`,"stream":true}`)
		if whole.said() != c.want || stream.said() != c.want {
			t.Errorf("%s: whole %q, stream %q, want %q (%+v)", c.name, whole.said(), stream.said(), c.want, whole.Error)
			continue
		}
		thoughts := len(m.Text.Tokenizer.Encode(c.thoughts, false))
		for _, r := range []responseBody{whole, stream} {
			if r.Object != "response" || !strings.HasPrefix(r.ID, "resp_") || r.Model != "tiny" || r.Usage == nil ||
				r.Usage.Input == 0 || r.Usage.Details.Reasoning != thoughts || r.Metadata["a"] != "b" ||
				r.Instructions == nil || *r.Instructions != "Be brief." {
				t.Errorf("%s: %+v, usage %+v, want %d tokens of thoughts", c.name, r, r.Usage, thoughts)
			}
		}
	}
}

// A response has the tokens of the chat that says the same; an answer that is cut is incomplete.
func TestResponsesSayWhatChatsSay(t *testing.T) {
	m := newTiny(t)
	const same = `"model":"tiny","seed":-5,"temperature":1.3,"top_p":0.95,"min_p":0.001,"top_k":90,` +
		`"return_token_ids":true`
	for _, most := range []int{3, 60} {
		chat := decodeAnswer(t, ask(t, m, "chat", fmt.Sprintf(`{%s,"max_tokens":%d,"messages":[{"role":"user","content":
			"What is 3 + 4?"}]}`, same, most)).Body.String())
		c := chat.Choices[0]
		for _, stream := range []bool{false, true} {
			got := response(t, m, fmt.Sprintf(`{%s,"max_output_tokens":%d,"input":"What is 3 + 4?","stream":%v}`,
				same, most, stream))
			text, status := "", map[string]string{"stop": "completed", "length": "incomplete"}[c.Finish]
			if c.Message.Reasoning != "" {
				text = "reasoning completed|reasoning_text " + c.Message.Reasoning + "\n"
			}
			if c.Message.Content != "" {
				text += "message " + status + "|output_text " + c.Message.Content + "\n"
			}
			text += status
			if status == "incomplete" {
				text += " max_output_tokens"
			}
			if got.said() != text || !slices.Equal(got.TokenIDs, c.TokenIDs) ||
				!slices.Equal(got.PromptIDs, chat.PromptIDs) || got.Usage.Output != len(c.TokenIDs) {
				t.Errorf("%d tokens, stream %v: %q %v, want %q %v", most, stream, got.said(), got.TokenIDs, text,
					c.TokenIDs)
			}
		}
	}
}

// The logprobs of a response are those of the chat that says the same, to the bit, without the token that ended it.
func TestResponseLogprobs(t *testing.T) {
	m := newTiny(t)
	const same = `"model":"tiny","seed":-5,"temperature":1.3,"top_logprobs":2,"return_token_ids":true`
	var chat struct {
		Choices []struct {
			TokenIDs []int32 `json:"token_ids"`
			Logprobs struct{ Content []responseLogprob }
		}
	}
	w := ask(t, m, "chat", `{`+same+`,"logprobs":true,"max_tokens":60,"messages":[{"role":"user","content":
		"What is 3 + 4?"}]}`)
	if err := json.Unmarshal(w.Body.Bytes(), &chat); err != nil || len(chat.Choices) != 1 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	want := chat.Choices[0].Logprobs.Content
	if last := chat.Choices[0].TokenIDs[len(want)-1]; slices.Contains(m.Text.Ends, last) {
		want = want[:len(want)-1]
	}
	for _, stream := range []bool{false, true} {
		got := response(t, m, fmt.Sprintf(`{%s,"include":["message.output_text.logprobs"],"max_output_tokens":60,`+
			`"input":"What is 3 + 4?","stream":%v}`, same, stream))
		said, text := got.Output[len(got.Output)-1].Content[0], ""
		for _, x := range said.Logprobs {
			text += x.Token
		}
		if len(said.Logprobs) == 0 || text != said.Text || len(want[0].Top) != 2 ||
			!reflect.DeepEqual(said.Logprobs, want[len(want)-len(said.Logprobs):]) {
			t.Errorf("stream %v: %+v, want the last of %+v", stream, got.Output, want)
		}
		none := response(t, m, fmt.Sprintf(`{"model":"tiny","seed":-5,"temperature":1.3,"max_output_tokens":60,`+
			`"input":"What is 3 + 4?","stream":%v}`, stream))
		if x := none.Output[len(none.Output)-1].Content[0]; x.Text != said.Text || len(x.Logprobs) != 0 {
			t.Errorf("stream %v: %+v, want %q and no logprobs, which nobody asked for", stream, none.Output, said.Text)
		}
	}
}

// The tokens of a message's logprobs spell its text, perhaps with white space that is part of them; those of thoughts,
// calls and marks are not among them.
func TestResponseLogprobsAreOfTheText(t *testing.T) {
	for said, want := range map[string]string{"<think>\nHm.\n</think>\n\nHello": "Hello", twoCalls: "I add.",
		"Grüße": "Grüße", "a < b <": "a < b <"} {
		m, _ := tools(t, said)
		body := `{"model":"tiny","input":"Hi","include":["message.output_text.logprobs"],` + twoFunctions
		whole, stream := response(t, m, body+"}"), response(t, m, body+`,"stream":true}`)
		for _, r := range []responseBody{whole, stream} {
			i := slices.IndexFunc(r.Output, func(x responseItem) bool { return x.Type == "message" })
			var raw []byte
			for _, x := range r.Output[i].Content[0].Logprobs {
				for _, b := range x.Bytes {
					raw = append(raw, byte(b))
				}
			}
			if got := r.Output[i].Content[0].Text; got != want || strings.TrimSpace(string(raw)) != want {
				t.Errorf("%q: the text is %q, its tokens are %q", said, got, raw)
			}
		}
	}
}

// Items have the prompt of the chat that says the same.
func TestResponsesArePromptedAsChats(t *testing.T) {
	m, asked := tools(t, "Hello")
	withTemplate(t, m, conversationTemplate)
	const chatTools = `"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":` +
		`{"type":"object","properties":{"b":{},"a":{}}}}},{"type":"function","function":` +
		`{"name":"sub","parameters":{}}}]`
	for _, c := range []struct{ name, response, chat string }{
		{"text", `"input":"Hi","instructions":"S"`,
			`"messages":[{"role":"system","content":"S"},{"role":"user","content":"Hi"}]`},
		{"parts", `"input":[{"role":"developer","content":"S"},{"type":"message","role":"user","content":
			[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]`,
			`"messages":[{"role":"system","content":"S"},{"role":"user","content":"ab"}]`},
		{"two turns", `"input":[{"role":"user","content":"1+2?"},{"type":"reasoning","id":"r","summary":[],"content":
			[{"type":"reasoning_text","text":"Hm."}]},{"type":"message","id":"m","status":"completed",
			"role":"assistant","content":[{"type":"output_text","text":"I add.","annotations":[],
			"logprobs":[]}]},
			{"type":"function_call","id":"f","call_id":"t1","name":"add","arguments":"{\"b\":2,\"a\":{\"z\":1}}",
			"status":"completed"},
			{"type":"function_call","call_id":"t2","name":"sub","arguments":"{}"},{"type":"function_call_output",
			"call_id":"t1","output":"3"},{"type":"function_call_output","call_id":"t2","output":[{"type":"input_text",
			"text":"no"}]},{"type":"function_call","call_id":"t3","name":"sub","arguments":"{}"},
			{"type":"function_call_output","call_id":"t3","output":""},{"type":"message","role":"assistant",
			"content":"3"},{"type":"message","role":"assistant","content":"So."},{"role":"user","content":"So?"}],` +
			twoFunctions,
			`"messages":[{"role":"user","content":"1+2?"},{"role":"assistant","content":"I add.",
			"reasoning_content":"Hm.","tool_calls":[{"id":"t1","type":"function","function":{"name":"add",
			"arguments":"{\"b\":2,\"a\":{\"z\":1}}"}},{"id":"t2","type":"function",
			"function":{"name":"sub","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"3"},
			{"role":"tool","tool_call_id":"t2","content":"no"},
			{"role":"assistant","content":"","tool_calls":[{"id":"t3","type":"function","function":{"name":"sub",
			"arguments":"{}"}}]},{"role":"tool","tool_call_id":"t3","content":""},{"role":"assistant","content":"3"},
			{"role":"assistant","content":"So."},{"role":"user","content":"So?"}],` + chatTools},
	} {
		if w := ask(t, m, "chat", `{"model":"tiny",`+c.chat+"}"); w.Code != http.StatusOK {
			t.Fatalf("%s: %s", c.name, w.Body)
		}
		want, _ := asked.Prompt.Tokens()
		if w := sends(t, m, respond, `{"model":"tiny",`+c.response+"}"); w.Code != http.StatusOK {
			t.Errorf("%s: %s", c.name, w.Body)
			continue
		}
		if ids, _ := asked.Prompt.Tokens(); !slices.Equal(ids, want) {
			t.Errorf("%s: prompt\n%s, of the chat\n%s", c.name, m.Text.Tokenizer.Decode(ids, false),
				m.Text.Tokenizer.Decode(want, false))
		}
	}
}

// Tokens of thoughts count up to the end of the mark, in however many tokens that comes.
func TestThoughtTokens(t *testing.T) {
	m, _ := tools(t, "")
	for _, c := range []struct {
		inside bool
		pieces []string // each is encoded by itself
		want   int      // pieces that count
	}{
		{false, []string{"Hello </think>"}, 0}, {false, []string{"\n", "<th", "ink>", "a", "</th", "ink>", "b"}, 6},
		{true, []string{"a", "</", "thi", "nk>", "</think>"}, 4}, {true, []string{"a", "b"}, 2}, {false, nil, 0},
		{false, []string{"<th", "e"}, 0}, {true, []string{"</thin", "</think>", "a"}, 2},
	} {
		a := &answer{request: &request{chat: &conversation{inside: c.inside}}, model: &m.Model}
		var drawn []tinker.Drawn
		want := 0
		for i, p := range c.pieces {
			for _, id := range m.Text.Tokenizer.Encode(p, false) {
				drawn = append(drawn, tinker.Drawn{Token: id})
			}
			if i < c.want {
				want = len(drawn)
			}
		}
		if got := thoughtTokens(a, drawn); got != want {
			t.Errorf("inside %v, %q: %d of %d tokens, want %d", c.inside, c.pieces, got, len(drawn), want)
		}
	}
}

func TestResponseRefusals(t *testing.T) {
	m, _ := tools(t, "Hello")
	for _, c := range []struct {
		more string
		text string
	}{
		{``, "input is missing"},
		{`,"input":[]`, "input is []"},
		{`,"input":5`, "input is 5"},
		{`,"input":[5]`, "input[0]: 5 is not an object"},
		{`,"input":[{"role":"tool","content":"x"}]`, `input[0]: role is "tool"`},
		{`,"input":[{"role":"user"}]`, "input[0]: content is missing"},
		{`,"input":[{"role":"user","content":[{"type":"input_image"}]}]`, `part of type "input_image"`},
		{`,"input":[{"type":"item_reference","id":"x"}]`, `an item of type "item_reference"`},
		{`,"input":[{"type":"function_call","call_id":"x"}]`, "name is missing"},
		{`,"input":[{"type":"function_call_output","call_id":"x"}]`, "output is missing"},
		{`,"input":[{"role":"user","content":"x","nome":"y"}]`, "nome"},
		{`,"input":"Hi","previous_response_id":"resp_1"`, "previous_response_id"},
		{`,"input":"Hi","conversation":"c"`, "conversation"},
		{`,"input":"Hi","background":true`, "background"},
		{`,"input":"Hi","text":{"format":{"type":"yaml"}}`, "text: format has the type \"yaml\""},
		{`,"input":"Hi","reasoning":{"effort":5}`, "reasoning: effort is 5"},
		{`,"input":"Hi","include":["file_search_call.results"]`, "include has"},
		{`,"input":"Hi","include":["message.output_text.logprobs"],"top_logprobs":21`, "top_logprobs is 21"},
		{`,"input":"Hi","top_logprobs":2`, "top_logprobs is 2, which is not supported here: it needs include"},
		{`,"input":"Hi","messages":[]`, "Unrecognized request argument supplied: messages"},
		{`,"input":"Hi","max_tokens":3`, "Unrecognized request argument supplied: max_tokens"},
		{`,"input":"Hi","tools":[{"type":"web_search"}]`, "tools[0] (web_search) is left out: no tool"},
		{`,"input":"Hi","tools":[{"type":"function"}]`, "name is missing"},
		{`,"input":"Hi","tool_choice":"required"`, "there are no tools"},
		{`,"input":"Hi","temperature":"hot"`, "not a number"},
	} {
		w := sends(t, m, respond, `{"model":"tiny"`+c.more+"}")
		e := decodeAnswer(t, w.Body.String()).Error
		if e == nil || w.Code != http.StatusBadRequest || !strings.Contains(e.Message, c.text) {
			t.Errorf("%s: %d %s, want %q", c.more, w.Code, w.Body, c.text)
		}
	}
	for _, neutral := range []string{`"store":true`, `"store":false,"include":["reasoning.encrypted_content"]`,
		`"reasoning":null,"prompt_cache_key":"k","text":{"verbosity":"medium"}`, `"truncation":"disabled"`} {
		if w := sends(t, m, respond, `{"model":"tiny","input":"Hi",`+neutral+"}"); w.Code != http.StatusOK {
			t.Errorf("%s: %s", neutral, w.Body)
		}
	}
	for _, err := range []error{tinker.ErrBusy, nil} { // nil: no tokens
		m.Sampler = &failing{err: err, late: true}
		code := map[bool]string{true: "rate_limit_exceeded", false: "server_error"}[err != nil]
		got := response(t, m, `{"model":"tiny","input":"Hi","stream":true}`)
		if got.Status != "failed" || got.Error == nil || got.Error.Code != code {
			t.Errorf("%v in a stream: %+v", err, got)
		}
	}
}

// FuzzResponses: no body makes a panic, an answer that is no response, or a fault of the server.
func FuzzResponses(f *testing.F) {
	for _, body := range []string{`{"model":"tiny","input":"Hi"}`, `{"model":"tiny","input":"Hi","stream":true,` +
		twoFunctions + `,"tool_choice":"required"}`, `{"model":"tiny","input":[{"type":"reasoning","summary":[],` +
		`"content":[{"type":"reasoning_text","text":"a"}]},{"role":"assistant","content":[{"type":"output_text",` +
		`"text":"b"}]},{"type":"function_call","call_id":"c","name":"d","arguments":"{}"},{"type":` +
		`"function_call_output","call_id":"c","output":"e"}],"instructions":"f"}`,
		`{"model":"tiny","input":[null,5],"tools":[null],"reasoning":null}`} {
		f.Add(body)
	}
	m, _ := tools(f, `<think>a</think>b<tool_call>{"name":"add","arguments":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := sends(t, m, respond, body)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		got := response(t, m, body)
		if (w.Code == http.StatusOK) != (got.Error == nil && got.Object == "response" && got.Usage != nil) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}
