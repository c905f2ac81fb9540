package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// messageBody is what the tests read of a message, whole or added up from events.
type messageBody struct {
	ID, Type, Role, Model string
	Content               []block
	StopReason            *string   `json:"stop_reason"`
	StopSequence          *string   `json:"stop_sequence"`
	PromptIDs             []int32   `json:"prompt_token_ids"`
	TokenIDs              []int32   `json:"token_ids"`
	Logprobs              *logprobs `json:"logprobs"`
	Usage                 map[string]int
	Error                 *struct{ Type, Message string }
}

type logprobs struct {
	Content []struct {
		Token   string
		TokenID int32 `json:"token_id"`
		Logprob float32
		Top     []struct {
			TokenID int32 `json:"token_id"`
			Logprob float32
		} `json:"top_logprobs"`
	}
}

// bits are the logprobs of the tokens.
func (l *logprobs) bits() (out []float32) {
	if l == nil {
		return nil
	}
	for _, x := range l.Content {
		out = append(out, x.Logprob)
	}
	return out
}

type block struct {
	Type, Text, Thinking, Signature, Name, ID string
	Input                                     json.RawMessage
}

// said is a message as text: one line for each block and one for the end.
func (m *messageBody) said() string {
	var b strings.Builder
	for _, x := range m.Content {
		fmt.Fprintf(&b, "%s|%s%s%s%s\n", x.Type, x.Text, x.Thinking, x.Name, compact(x.Input))
	}
	if m.StopReason != nil {
		b.WriteString(*m.StopReason)
	}
	if m.StopSequence != nil {
		b.WriteString(" " + *m.StopSequence)
	}
	return b.String()
}

// posts sends a body to a route of Anthropic's interface.
func posts(t testing.TB, m Models, call func(*API) handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	a := New(m, func() time.Time { return time.Unix(1e9, 0) })
	if err := call(a)(t.Context(), w, "me", []byte(body)); err != nil {
		ErrorOf(err).WriteAnthropic(w)
	}
	return w
}

type handler = func(context.Context, http.ResponseWriter, string, []byte) error

func messages(a *API) handler    { return a.Messages }
func countTokens(a *API) handler { return a.CountTokens }

// message sends a body and reads the message, adding up its events.
func message(t testing.TB, m Models, body string) messageBody {
	t.Helper()
	w := posts(t, m, messages, body)
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		return gather(t, w.Body.String())
	}
	return decodeMessage(t, w.Body.String())
}

func decodeMessage(t testing.TB, raw string) (m messageBody) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return m
}

// gather adds up the events of a message, and checks their order as Anthropic's clients rely on it.
func gather(t testing.TB, raw string) (m messageBody) {
	t.Helper()
	input, open, ended := "", false, false
	for i, e := range strings.Split(strings.TrimSuffix(raw, "\n\n"), "\n\n") {
		head, data, ok := strings.Cut(e, "\ndata: ")
		var v struct {
			Type    string
			Index   int
			Message messageBody
			Block   block `json:"content_block"`
			Delta   struct {
				messageBody
				Type, Text, Thinking, Signature string
				Partial                         string `json:"partial_json"`
			}
			Usage map[string]int
			Error *struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(data), &v); err != nil || !ok || head != "event: "+v.Type || ended ||
			(i == 0) != (v.Type == "message_start") {
			t.Fatalf("event %d: %v: %q", i, err, e)
		}
		last := &block{}
		if len(m.Content) > 0 {
			last = &m.Content[len(m.Content)-1]
		}
		switch v.Type {
		case "message_start":
			m = v.Message
		case "ping":
		case "content_block_start":
			if open || v.Index != len(m.Content) {
				t.Fatalf("block %d begins after %d, open: %v", v.Index, len(m.Content), open)
			}
			m.Content, open, input = append(m.Content, v.Block), true, ""
		case "content_block_delta":
			if !open || v.Index != len(m.Content)-1 {
				t.Fatalf("a delta of block %d of %d, open: %v", v.Index, len(m.Content), open)
			}
			last.Text, last.Thinking = last.Text+v.Delta.Text, last.Thinking+v.Delta.Thinking
			last.Signature += v.Delta.Signature
			input += v.Delta.Partial
		case "content_block_stop":
			if last.Type == "tool_use" {
				last.Input = json.RawMessage(input)
			}
			open = false
		case "message_delta":
			if open {
				t.Fatal("message_delta within a block")
			}
			m.StopReason, m.StopSequence, m.Usage = v.Delta.StopReason, v.Delta.StopSequence, v.Usage
			m.PromptIDs, m.TokenIDs, m.Logprobs = v.Delta.PromptIDs, v.Delta.TokenIDs, v.Delta.Logprobs
		case "message_stop":
			ended = true
		case "error":
			m.Error, ended = v.Error, true
		default:
			t.Fatalf("event %q", e)
		}
	}
	if !ended {
		t.Fatalf("the stream has no end: %q", raw)
	}
	return m
}

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
		ids := string(encoded(chat.PromptIDs))
		gen := generation(t, m, fmt.Sprintf(`{"model":"tiny","token_ids":%s,"stream":%v,"sampling_params":{%s,"logprobs":1}}`,
			ids, stream, strings.TrimPrefix(same, `"model":"tiny",`)))
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

const anthropicTools = `"tools":[{"name":"add","description":"adds","input_schema":{"type":"object","properties":` +
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
		{"no tools", twoCalls, ``, "text|" + twoCalls + "\nend_turn"},
		{"calls", "<think>x</think>" + twoCalls, "," + anthropicTools, "thinking|x\ntext|I add.\n" + add + sub + "tool_use"},
		{"text after a call", strings.Replace(twoCalls, "</tool_call>\n", "</tool_call>\nand ", 1), "," + anthropicTools,
			"text|I add.\nand \n" + add + sub + "tool_use"},
		{"one call", twoCalls, "," + anthropicTools + `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`,
			"text|I add.\n" + add + "tool_use"},
		{"none", "Hello", "," + anthropicTools + `,"tool_choice":{"type":"none"}`, "text|Hello\nend_turn"},
		{"any", `sub", "arguments": {}}` + "\n</tool_call>", "," + anthropicTools + `,"tool_choice":{"type":"any"}`,
			sub + "tool_use"},
		{"tool", `{}}`, "," + anthropicTools + `,"tool_choice":{"type":"tool","name":"sub"}`, sub + "tool_use"},
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

// conversationTemplate shows everything of a conversation that a template can see.
const conversationTemplate = "{{ tools | tojson if tools }}<tool_call>{{ enable_thinking }}{%- for m in messages %}" +
	"{{ '<|im_start|>' + m.role + '\n' + (m.reasoning_content or '') + '|' + (m.content or '') }}" +
	"{{ m.tool_call_id }}{% for c in m.tool_calls or [] %}{{ c.id }}{{ c.function.name }}" +
	"{{ c.function.arguments | tojson }}{% endfor %}{{ '<|im_end|>\n' }}{%- endfor %}" +
	"{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

// A message has the prompt of the chat that says the same, and count_tokens its length.
func TestMessagesArePromptedAsChats(t *testing.T) {
	m, asked := tools(t, "Hello")
	withTemplate(t, m, conversationTemplate)
	const chatTools = `"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":` +
		`{"type":"object","properties":{"b":{},"a":{}}}}},{"type":"function","function":{"name":"sub","parameters":{}}}]`
	for _, c := range []struct{ name, message, chat string }{
		{"text", `"messages":[{"role":"user","content":"Hi"}]`, `"messages":[{"role":"user","content":"Hi"}]`},
		{"blocks", `"system":[{"type":"text","text":"Be "},{"type":"text","text":"brief.","cache_control":{"type":"ephemeral"}}],
			"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","citations":null}]}]`,
			`"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"ab"}]`},
		{"thinking", `"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"Hi"}]`,
			`"chat_template_kwargs":{"enable_thinking":true},"messages":[{"role":"user","content":"Hi"}]`},
		{"no thinking", `"thinking":{"type":"disabled"},"messages":[{"role":"user","content":"Hi"}]`,
			`"chat_template_kwargs":{"enable_thinking":false},"messages":[{"role":"user","content":"Hi"}]`},
		{"adaptive", `"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"Hi"}]`,
			`"messages":[{"role":"user","content":"Hi"}]`},
		{"two turns", `"system":"S","messages":[{"role":"user","content":"1+2?"},{"role":"assistant","content":[
			{"type":"thinking","thinking":"Hm.","signature":"x"},{"type":"text","text":"I add."},
			{"type":"tool_use","id":"t1","name":"add","input":{"b":2,"a":{"z":1,"y":"<"}},"caller":{"type":"direct"}},
			{"type":"tool_use","id":"t2","name":"sub","input":{}}]},{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"t1","content":"3"},
			{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"no"}],"is_error":true},
			{"type":"tool_result","tool_use_id":"t3"},{"type":"text","text":"So?"}]}],` + anthropicTools,
			`"messages":[{"role":"system","content":"S"},{"role":"user","content":"1+2?"},{"role":"assistant",
			"content":"I add.","reasoning_content":"Hm.","tool_calls":[{"id":"t1","type":"function","function":
			{"name":"add","arguments":"{\"b\":2,\"a\":{\"z\":1,\"y\":\"<\"}}"}},{"id":"t2","type":"function","function":
			{"name":"sub","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"3"},
			{"role":"tool","tool_call_id":"t2","content":"no"},{"role":"tool","tool_call_id":"t3","content":""},
			{"role":"user","content":"So?"}],` + chatTools},
		{"continued", `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Well,"}]`,
			`"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Well,"}]`},
		{"forced", `"messages":[{"role":"user","content":"Hi"}],"tool_choice":{"type":"tool","name":"add"},` +
			anthropicTools, `"messages":[{"role":"user","content":"Hi"}],"tool_choice":{"type":"function","function":` +
			`{"name":"add"}},` + chatTools},
	} {
		if e := decodeAnswer(t, ask(t, m, "chat", `{"model":"tiny","max_tokens":9,`+c.chat+"}").Body.String()).Error; e != nil {
			t.Fatalf("%s: %+v", c.name, e)
		}
		want, _ := asked.Prompt.Tokens()
		got := message(t, m, `{"model":"tiny","max_tokens":9,`+c.message+"}")
		if got.Error != nil {
			t.Errorf("%s: %+v", c.name, got.Error)
			continue
		}
		ids, _ := asked.Prompt.Tokens()
		if !slices.Equal(ids, want) {
			t.Errorf("%s: prompt\n%s, of the chat\n%s", c.name, m.Text.Tokenizer.Decode(ids, false),
				m.Text.Tokenizer.Decode(want, false))
		}
		count := posts(t, m, countTokens, `{"model":"tiny",`+c.message+"}").Body.String()
		if count != fmt.Sprintf(`{"input_tokens":%d}`, len(want)) || got.Usage["input_tokens"] != len(want) {
			t.Errorf("%s: counted %s, usage %v, want %d", c.name, count, got.Usage, len(want))
		}
		tokens := posts(t, m, tokenize, `{"model":"tiny",`+c.chat+"}").Body.String()
		if !strings.Contains(tokens, `"tokens":`+string(encoded(want))+"}") &&
			!strings.Contains(tokens, `"tokens":`+string(encoded(want))+",") {
			t.Errorf("%s: tokenize %s, want %v", c.name, tokens, want)
		}
	}
}

func TestMessageRefusals(t *testing.T) {
	m, _ := tools(t, "Hello")
	const hi = `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`
	user := func(content string) string {
		return `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":` + content + `}]}`
	}
	for _, c := range []struct {
		body   string
		status int
		kind   string
		text   string
	}{
		{`[]`, 400, "invalid_request_error", "not a JSON object"},
		{`{"max_tokens":1,"messages":[]}`, 400, "invalid_request_error", "model is missing"},
		{`{"model":"other","max_tokens":1,"messages":[]}`, 404, "not_found_error", "not found"},
		{`{"model":"tiny","messages":[{"role":"user","content":"Hi"}]}`, 400, "", "max_tokens is missing"},
		{`{"model":"tiny","max_tokens":0,"messages":[{"role":"user","content":"Hi"}]}`, 400, "", "max_tokens is 0"},
		{`{"model":"tiny","max_tokens":-3,"messages":[{"role":"user","content":"Hi"}]}`, 400, "", "max_tokens is -3"},
		{`{"model":"tiny","max_tokens":5}`, 400, "", "messages must be a list"},
		{`{"model":"tiny","max_tokens":5,"messages":[]}`, 400, "", "messages must be a list"},
		{`{"model":"tiny","max_tokens":5,"messages":"Hi"}`, 400, "", "messages must be a list"},
		{`{"model":"tiny","max_tokens":5,"messages":[{"role":"tool","content":"Hi"}]}`, 400, "", `messages[0]: role is "tool"`},
		{`{"model":"tiny","max_tokens":5,"messages":[{"role":"user"}]}`, 400, "", "messages[0]: content is missing"},
		{`{"model":"tiny","max_tokens":5,"messages":[{"role":"user","content":"Hi","name":"x"}]}`, 400, "", "name"},
		{user("5"), 400, "", "messages[0]: 5 must be a text or a list"},
		{user(`[{"type":"image","source":{}}]`), 400, "", `messages[0]: content[0]: a block of type "image"`},
		{user(`[{"type":"tool_use","id":"a","name":"b","input":{}}]`), 400, "", `"tool_use" cannot be read in a message of role user`},
		{user(`[{"type":"text"}]`), 400, "", "text is missing"},
		{user(`[{"type":"text","text":"a","citations":[1]}]`), 400, "", "citations"},
		{user(`[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}]`), 400, "", `content: [0]: a block of type "image"`},
		{user(`[{"type":"tool_result","tool_use_id":"a","kontent":"b"}]`), 400, "", "kontent"},
		{hi + `,"system":[{"type":"image"}]}`, 400, "", `system: [0]: a block of type "image"`},
		{hi + `,"temprature":1}`, 400, "", "Unrecognized request argument supplied: temprature"},
		{hi + `,"stop":["x"]}`, 400, "", "Unrecognized request argument supplied: stop"},
		{hi + `,"n":2}`, 400, "", "Unrecognized request argument supplied: n"},
		{hi + `,"temperature":"hot"}`, 400, "", `temperature is "hot", which is not a number`},
		{hi + `,"stop_sequences":"x"}`, 400, "", "a list of texts"},
		{hi + `,"stop_sequences":[""]}`, 400, "", "stop_sequences[0] is empty"},
		{hi + `,"container":"c"}`, 400, "", "container"},
		{hi + `,"service_tier":"priority"}`, 400, "", "service_tier"},
		{hi + `,"output_config":{"format":{"type":"json_schema"}}}`, 400, "", "output_config"},
		{hi + `,"thinking":{"type":"between_tools"}}`, 400, "", "must be enabled, disabled or adaptive"},
		{hi + `,"thinking":{"type":"disabled","budget_tokens":5}}`, 400, "", "thinking.budget_tokens is 5"},
		{hi + `,"thinking":{"type":"enabled","budget_tokens":5,"display":"omitted"}}`, 400, "", "thinking.display"},
		{hi + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, 400, "", "tools[0]: a tool of type"},
		{hi + `,"tools":[{"name":"f"}]}`, 400, "", "tools[0]: input_schema is missing"},
		{hi + `,"tools":[{"input_schema":{}}]}`, 400, "", "tools[0]: name is missing"},
		{hi + `,"tools":[{"name":"f","input_schema":{},"strict":true}]}`, 400, "", "tools[0]: strict"},
		{hi + `,"tool_choice":{"type":"any"}}`, 400, "", "there are no tools"},
		{hi + `,"tool_choice":{"type":"tool"}}`, 400, "", "tool_choice"},
		{hi + `,"tool_choice":{"type":"tool","name":"f"},"tools":[{"name":"g","input_schema":{}}]}`, 400, "", "none of the tools"},
		{strings.Replace(hi, `"max_tokens":9`, `"max_tokens":4096`, 1) + `}`, 400, "",
			"input length and `max_tokens` exceed context limit: "},
		{user(`"` + strings.Repeat("many words ", 4096) + `"`), 400, "", "prompt is too long: "},
	} {
		w := posts(t, m, messages, c.body)
		e := decodeMessage(t, w.Body.String())
		if c.kind == "" {
			c.kind = "invalid_request_error"
		}
		if e.Type != "error" || e.Error == nil || w.Code != c.status || e.Error.Type != c.kind ||
			!strings.Contains(e.Error.Message, c.text) {
			t.Errorf("%.120s: %d %s, want %d %s %q", c.body, w.Code, w.Body, c.status, c.kind, c.text)
		}
	}
	for _, neutral := range []string{`"metadata":{"user_id":"a"}`, `"cache_control":{"type":"ephemeral"}`, `"top_k":null`,
		`"service_tier":"auto"`, `"output_config":{"effort":"high"}`, `"tools":[]`, `"stop_sequences":[]`,
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`,
		`"thinking":{"type":"adaptive","display":"summarized"}`} {
		if w := posts(t, m, messages, hi+","+neutral+"}"); w.Code != http.StatusOK {
			t.Errorf("%s: %s", neutral, w.Body)
		}
	}
}

// failing is a sampler that fails, at once or after the first token of a stream.
type failing struct {
	err  error
	late bool
}

func (f *failing) Sample(context.Context, tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if f.late {
		return tinker.Resolved(tinker.SampleResponse{}, f.err), nil
	}
	return nil, f.err
}

// Errors have Anthropic's types, before an answer and within a stream.
func TestMessageErrors(t *testing.T) {
	m, _ := tools(t, "")
	for _, c := range []struct {
		err    error
		status int
		kind   string
		after  string
	}{
		{fmt.Errorf("queue full: %w", tinker.ErrBusy), 429, "rate_limit_error", "1"},
		{tinker.ErrClosed, 529, "overloaded_error", "1"},
		{tinker.ErrNotFound, 404, "not_found_error", ""},
		{tinker.Userf("temperature is bad"), 400, "invalid_request_error", ""},
		{context.DeadlineExceeded, 504, "timeout_error", ""},
		{errors.New("the disk is on fire"), 500, "api_error", ""},
	} {
		const body = `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`
		m.Sampler = &failing{err: c.err}
		w := posts(t, m, messages, body+"}")
		e := decodeMessage(t, w.Body.String())
		if w.Code != c.status || e.Error == nil || e.Error.Type != c.kind || w.Header().Get("Retry-After") != c.after {
			t.Errorf("%v: %d %v %s, want %d %s", c.err, w.Code, w.Header(), w.Body, c.status, c.kind)
		}
		m.Sampler = &failing{err: c.err, late: true}
		if s := message(t, m, body+`,"stream":true}`); s.Error == nil || s.Error.Type != c.kind {
			t.Errorf("%v in a stream: %+v, want %s", c.err, s.Error, c.kind)
		}
	}
	m.Sampler = &failing{late: true} // an answer without sequences
	if s := message(t, m, `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"stream":true}`); s.Error ==
		nil || s.Error.Type != "api_error" {
		t.Errorf("a stream without tokens: %+v", s)
	}
}

// A prompt whose beginning another request had is reported as read from the cache, in both interfaces and in streams.
func TestCachedTokens(t *testing.T) {
	m := newTiny(t)
	long := strings.Repeat("Ann has 12 apples and gets 30 more. ", 12)
	for i, stream := range []string{"", `,"stream":true`} {
		turns := fmt.Sprintf(`"messages":[{"role":"user","content":"%d %s"}],"max_tokens":2`, i, long)
		first := message(t, m, `{"model":"tiny",`+turns+stream+"}")
		again := message(t, m, `{"model":"tiny",`+turns+stream+"}")
		all := first.Usage["input_tokens"] + first.Usage["cache_read_input_tokens"]
		cached := again.Usage["cache_read_input_tokens"]
		if cached < 16 || again.Usage["input_tokens"] != all-cached || first.Usage["cache_read_input_tokens"] >= cached {
			t.Errorf("messages%s: usage %v, again %v", stream, first.Usage, again.Usage)
		}
		w := ask(t, m, "chat", `{"model":"tiny","stream_options":{"include_usage":true},`+turns+stream+"}")
		if want := fmt.Sprintf(`"cached_tokens":%d}`, cached); !strings.Contains(w.Body.String(), want) {
			t.Errorf("chats%s: %s, want %s", stream, w.Body, want)
		}
	}
}
