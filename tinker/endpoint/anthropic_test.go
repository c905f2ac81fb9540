package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
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
		fmt.Fprintf(&b, "%s|%s%s%s%s\n", x.Type, x.Text, x.Thinking, x.Name, param.Compact(x.Input))
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
		param.ErrorOf(err).WriteAnthropic(w)
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
		`{"type":"object","properties":{"b":{},"a":{}}}}},{"type":"function","function":` +
		`{"name":"sub","parameters":{}}}]`
	for _, c := range []struct{ name, message, chat string }{
		{"text", `"messages":[{"role":"user","content":"Hi"}]`, `"messages":[{"role":"user","content":"Hi"}]`},
		{"blocks", `"system":[{"type":"text","text":"Be "},{"type":"text","text":"brief.",
			"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},
			{"type":"text","text":"b","citations":null}]}]`,
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
			{"type":"tool_result","tool_use_id":"t3"},{"type":"text","text":"So?"}]}],` + twoTools,
			`"messages":[{"role":"system","content":"S"},{"role":"user","content":"1+2?"},{"role":"assistant",
			"content":"I add.","reasoning_content":"Hm.","tool_calls":[{"id":"t1","type":"function","function":
			{"name":"add","arguments":"{\"b\":2,\"a\":{\"z\":1,\"y\":\"<\"}}"}},{"id":"t2","type":"function","function":
			{"name":"sub","arguments":"{}"}}]},{"role":"tool","tool_call_id":"t1","content":"3"},
			{"role":"tool","tool_call_id":"t2","content":"no"},{"role":"tool","tool_call_id":"t3","content":""},
			{"role":"user","content":"So?"}],` + chatTools},
		{"continued", `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Well,"}]`,
			`"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Well,"}]`},
		{"forced", `"messages":[{"role":"user","content":"Hi"}],"tool_choice":{"type":"tool","name":"add"},` +
			twoTools,
			`"messages":[{"role":"user","content":"Hi"}],"tool_choice":{"type":"function","function":` +
				`{"name":"add"}},` + chatTools},
	} {
		w := ask(t, m, "chat", `{"model":"tiny","max_tokens":9,`+c.chat+"}")
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %s", c.name, w.Body)
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
		if !strings.Contains(tokens, `"tokens":`+string(param.Encoded(want))+"}") &&
			!strings.Contains(tokens, `"tokens":`+string(param.Encoded(want))+",") {
			t.Errorf("%s: tokenize %s, want %v", c.name, tokens, want)
		}
	}
}
