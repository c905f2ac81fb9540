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

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

const tinyModel = "../../examples/tiny/model"

func loadTiny(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Load(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// shelf is one model for every tenant.
type shelf struct{ Model }

func (s *shelf) Open(_ context.Context, tenant, name string) (*Model, error) {
	if name != "tiny" || tenant != "me" {
		return nil, fmt.Errorf("model %q: %w", name, tinker.ErrNotFound)
	}
	m := s.Model
	m.Close = func() {}
	return &m, nil
}

func (s *shelf) List(context.Context, string) ([]Card, error) {
	return []Card{{ID: "tiny", Context: s.Context, Kind: "base"}}, nil
}

// newTiny is the shipped model on the engine.
func newTiny(t testing.TB) *shelf {
	t.Helper()
	text, err := LoadText(tinyModel, nil, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Threads: 2, Models: map[string]engine.Model{
		"tiny": {Dir: tinyModel, Tokens: text.Tokenizer, EndTokens: text.Ends}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s, err := e.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	caps, err := e.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{Model{Text: text, Context: caps.Models[0].ContextLength, Sampler: s}}
}

// ask sends a body to chat/completions or completions.
func ask(t testing.TB, m Models, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	a := New(m, func() time.Time { return time.Unix(1e9, 0) })
	w := httptest.NewRecorder()
	call := a.Complete
	if path == "chat" {
		call = a.Chat
	}
	if err := call(t.Context(), w, "me", []byte(body)); err != nil {
		param.ErrorOf(err).Write(w)
	}
	return w
}

// answerBody is what the tests read of an answer or an event.
type answerBody struct {
	Choices []struct {
		Index          int
		Text           string
		Message, Delta struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
			ToolCalls []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Logprobs *struct {
			Content []struct {
				Token   string
				Logprob float32
			}
			Tokens        []string
			TokenLogprobs []*float32           `json:"token_logprobs"`
			Top           []map[string]float32 `json:"top_logprobs"`
			Offsets       []int                `json:"text_offset"`
		}
		TokenIDs []int32 `json:"token_ids"`
		Finish   string  `json:"finish_reason"`
	}
	PromptIDs []int32 `json:"prompt_token_ids"`
	Usage     *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
	Error *struct {
		Message, Type string
		Code, Param   *string
	}
}

func decodeAnswer(t testing.TB, raw string) (a answerBody) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return a
}

// events are the data of an answer's events without the last, which must be [DONE].
func eventsOf(t testing.TB, w *httptest.ResponseRecorder) (list []answerBody) {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n")
	for i, p := range parts {
		data, ok := strings.CutPrefix(p, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("event %q", p)
		}
		if i == len(parts)-1 {
			if data != "[DONE]" {
				t.Fatalf("the last event is %q", p)
			}
			break
		}
		list = append(list, decodeAnswer(t, data))
	}
	return list
}

// A stream, a whole answer and the sampler itself give the same tokens, bits and text, for chats and completions.
func TestStreamSaysWhatTheWholeAnswerSays(t *testing.T) {
	m := newTiny(t)
	const same = `"model":"tiny","n":3,"seed":-5,"max_tokens":40,"temperature":1.3,"top_p":0.95,"min_p":0.001,` +
		`"top_k":90,"stop":["7"," +"],"return_token_ids":true,"stream_options":{"include_usage":true},"user":"u"`
	for path, body := range map[string]string{
		"chat":       same + `,"logprobs":true,"messages":[{"role":"user","content":"What is 3 + 4?"}]`,
		"completion": same + `,"logprobs":0,"prompt":"What is 3 + 4?"`,
	} {
		whole := decodeAnswer(t, ask(t, m, path, "{"+body+"}").Body.String())
		if whole.Error != nil {
			t.Fatalf("%s: %+v", path, whole.Error)
		}
		p := tinker.DefaultSampling()
		seed := ^uint64(4)
		p.Seed, p.MaxTokens, p.Temperature, p.TopP, p.MinP, p.TopK = &seed, 40, 1.3, 0.95, 0.001, 90
		p.StopStrings = []string{"7", " +"}
		want, err := tinker.Sample(t.Context(), m.Sampler, tinker.SampleRequest{Prompt: tinker.Text(whole.PromptIDs),
			NumSamples: 3, Params: p})
		if err != nil {
			t.Fatal(err)
		}
		list := eventsOf(t, ask(t, m, path, "{"+body+`,"stream":true}`))
		for i, q := range want.Sequences {
			c := whole.Choices[i]
			var ids []int32
			var bits, wholeBits []float32
			text, thought, finish := "", "", ""
			for _, e := range list {
				for _, d := range e.Choices {
					if d.Index != i {
						continue
					}
					ids, finish = append(ids, d.TokenIDs...), finish+d.Finish
					text, thought = text+d.Text+d.Delta.Content, thought+d.Delta.Reasoning
					if d.Logprobs != nil {
						for _, x := range d.Logprobs.Content {
							bits = append(bits, x.Logprob)
						}
						for _, x := range d.Logprobs.TokenLogprobs {
							bits = append(bits, *x)
						}
					}
				}
			}
			for _, x := range c.Logprobs.Content {
				wholeBits = append(wholeBits, x.Logprob)
			}
			for _, x := range c.Logprobs.TokenLogprobs {
				wholeBits = append(wholeBits, *x)
			}
			if !slices.Equal(ids, q.Tokens) || !slices.Equal(c.TokenIDs, q.Tokens) {
				t.Errorf("%s %d: stream %v, whole %v, sampler %v", path, i, ids, c.TokenIDs, q.Tokens)
			}
			if !slices.Equal(bits, q.Logprobs) || !slices.Equal(wholeBits, q.Logprobs) {
				t.Errorf("%s %d: logprobs: stream %v, whole %v, sampler %v", path, i, bits, wholeBits, q.Logprobs)
			}
			said := c.Message.Content + c.Text
			if thought != c.Message.Reasoning {
				t.Errorf("%s %d: the stream thinks %q, the whole answer %q", path, i, thought, c.Message.Reasoning)
			}
			if thought != "" {
				text, said = "<think>"+thought+"</think>"+text, "<think>"+thought+"</think>"+said
			}
			decoded := m.Text.Tokenizer.Decode(q.Tokens, true)
			if at, _ := speech.FirstOf(decoded, p.StopStrings); at >= 0 {
				decoded = decoded[:at]
			}
			if text != said || said != decoded || finish != c.Finish || finish != string(q.StopReason) {
				t.Errorf("%s %d: stream %q (%s), whole %q (%s), want %q (%s)", path, i, text, finish, said, c.Finish,
					decoded, q.StopReason)
			}
		}
		last := list[len(list)-1].Usage
		if last == nil || *last != *whole.Usage || last.Total != last.Prompt+last.Completion ||
			last.Prompt != len(whole.PromptIDs) {
			t.Errorf("%s: usage %+v, whole %+v", path, last, whole.Usage)
		}
	}
}

// With echo and logprobs the answer scores its prompt, for batches of token lists too, as evaluation programs ask.
func TestEchoScoresThePrompt(t *testing.T) {
	m := newTiny(t)
	for _, most := range []int{0, 1} {
		got := decodeAnswer(t, ask(t, m, "completion", fmt.Sprintf(`{"model":"tiny","prompt":[[5,6,7,8],[9,10,11]],
			"echo":true,"logprobs":1,"max_tokens":%d,"temperature":0}`, most)).Body.String())
		if got.Error != nil || len(got.Choices) != 2 {
			t.Fatalf("%+v", got)
		}
		for i, ids := range [][]int32{{5, 6, 7, 8}, {9, 10, 11}} {
			want, err := tinker.ComputeLogprobs(t.Context(), m.Sampler, tinker.Text(ids))
			if err != nil {
				t.Fatal(err)
			}
			l := got.Choices[i].Logprobs
			if len(l.TokenLogprobs) != len(ids)+most || l.TokenLogprobs[0] != nil || l.Top[0] != nil ||
				len(l.Offsets) != len(l.Tokens) || got.Choices[i].Index != i {
				t.Fatalf("max_tokens %d, prompt %d: %+v", most, i, l)
			}
			for j := 1; j < len(ids); j++ {
				if *l.TokenLogprobs[j] != want[j] || l.Top[j][l.Tokens[j]] != want[j] {
					t.Errorf("token %d of prompt %d: %v in %v, want %v", j, i, *l.TokenLogprobs[j], l.Top[j], want[j])
				}
			}
			if !strings.HasPrefix(got.Choices[i].Text, m.Text.Tokenizer.Decode(ids, true)) {
				t.Errorf("prompt %d is not echoed: %q", i, got.Choices[i].Text)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	m := newTiny(t)
	const chatBody = `{"model":"tiny","messages":[{"role":"user","content":"Hi"}],`
	const textBody = `{"model":"tiny","prompt":"Hi",`
	long := strings.Repeat("many words ", m.Context)
	for _, c := range []struct {
		path, body  string
		status      int
		param, text string
	}{
		{"chat", `[]`, 400, "", "not a JSON object"},
		{"chat", `null`, 400, "", "the body is null"},
		{"chat", `{"messages":[]}`, 400, "model", "model is missing"},
		{"chat", `{"model":"other","messages":[]}`, 404, "model", "not found"},
		{"chat", `{"model":"tiny"}`, 400, "messages", "at least one message"},
		{"chat", `{"model":"tiny","messages":[{"content":"x"}]}`, 400, "messages", "role is missing"},
		{"chat", `{"model":"tiny","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "messages",
			"only text is read"},
		{"chat", chatBody + `"temprature":1}`, 400, "temprature", "Unrecognized request argument"},
		{"chat", chatBody + `"temperature":"hot"}`, 400, "temperature", `temperature is "hot", which is not a number`},
		{"chat", chatBody + `"temperature":-1}`, 400, "", "temperature is -1"},
		{"chat", chatBody + `"response_format":{"type":"grammar"}}`, 400, "response_format",
			"json_object or json_schema"},
		{"chat", chatBody + `"response_format":{"type":"json_object"},"ignore_eos":true}`, 400, "ignore_eos", "an end"},
		{"chat", chatBody + `"response_format":{"type":"json_schema",` +
			`"json_schema":{"schema":{"uniqueItems":true}}}}`, 400,
			"response_format", "response_format: schema.uniqueItems is not supported"},
		{"chat", chatBody + `"logit_bias":{"9999999":1}}`, 400, "logit_bias", "the model has tokens 0 to"},
		{"chat", chatBody + `"frequency_penalty":2.5}`, 400, "frequency_penalty", "-2 to 2"},
		{"chat", chatBody + `"n":0}`, 400, "n", "n is 0"},
		{"chat", chatBody + `"top_logprobs":3}`, 400, "top_logprobs", "needs logprobs"},
		{"chat", chatBody + `"logprobs":true,"top_logprobs":21}`, 400, "top_logprobs", "0 to 20"},
		{"chat", chatBody + `"stop":7}`, 400, "stop", "stop is 7"},
		{"chat", chatBody + `"max_tokens":1000000}`, 400, "messages", "maximum context length"},
		{"chat", chatBody + `"tool_choice":"required"}`, 400, "tool_choice", "there are no tools"},
		{"completion", `{"model":"tiny"}`, 400, "prompt", "prompt is missing"},
		{"completion", `{"model":"tiny","prompt":[]}`, 400, "prompt", "empty"},
		{"completion", `{"model":"tiny","prompt":""}`, 400, "prompt", "a prompt is empty"},
		{"completion", `{"model":"tiny","prompt":[100000000]}`, 400, "prompt", "token 0"},
		{"completion", `{"model":"tiny","prompt":"` + long + `"}`, 400, "messages", "maximum context length"},
		{"completion", textBody + `"max_tokens":0}`, 400, "max_tokens", "max_tokens is 0"},
		{"completion", textBody + `"best_of":3}`, 400, "best_of", "use n"},
		{"completion", textBody + `"stop_token_ids":[-4]}`, 400, "stop_token_ids", "stop_token_ids has -4"},
		{"completion", textBody + `"echo":true,"logprobs":1,"stream":true}`, 400, "echo", "not streamed"},
	} {
		w := ask(t, m, c.path, c.body)
		e := decodeAnswer(t, w.Body.String()).Error
		if e == nil || w.Code != c.status || !strings.Contains(e.Message, c.text) ||
			c.param != "" && (e.Param == nil || *e.Param != c.param) {
			t.Errorf("%s %.80s: %d %s, want %d %q of %q", c.path, c.body, w.Code, w.Body, c.status, c.text, c.param)
		}
		if strings.Contains(c.text, "maximum context") && (e.Code == nil || *e.Code != "context_length_exceeded") {
			t.Errorf("%.80s: code %v", c.body, e.Code)
		}
	}
	for _, neutral := range []string{`"response_format":{"type":"text"}`, `"frequency_penalty":0`, `"logit_bias":null`,
		`"metadata":{"a":"b"}`, `"service_tier":"auto"`, `"tools":null`, `"presence_penalty":0.0`} {
		if w := ask(t, m, "chat", chatBody+neutral+`,"max_tokens":1}`); w.Code != http.StatusOK {
			t.Errorf("%s: %s", neutral, w.Body)
		}
	}
}

// script is a sampler that answers with given texts, one for each sample, a token at a time.
type script struct {
	text  *Text
	said  []string
	asked *tinker.SampleRequest
}

func (s *script) Sample(_ context.Context, r tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	*s.asked = r
	var out tinker.SampleResponse
	if r.PromptLogprobs {
		out.PromptLogprobs = make([]float32, r.Prompt.Len())
	}
	for i := range r.NumSamples {
		ids := append(s.text.Tokenizer.Encode(s.said[i%len(s.said)], false), s.text.Ends[0])
		out.Sequences = append(out.Sequences, tinker.SampledSequence{Tokens: ids, Logprobs: make([]float32, len(ids)),
			StopReason: tinker.StopStop})
	}
	return tinker.Resolved(out, nil), nil
}

const toolTemplate = "{%- for m in messages %}" +
	"{{ '<|im_start|>' + m.role + '\n' + (m.content or '') + '<|im_end|>\n' }}" +
	"{%- endfor %}{%- if tools %}{{ tools | tojson }}<tool_call>{% endif %}" +
	"{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}" +
	"{% if thinking %}{{ '<think>\n' }}{% endif %}{% endif %}"

// tools is the shipped tokenizer with a template that has tools, and answers that were written beforehand.
func tools(t testing.TB, said ...string) (*shelf, *tinker.SampleRequest) {
	t.Helper()
	return toolsOf(t, toolTemplate, said...)
}

// toolsOf is tools with another template.
func toolsOf(t testing.TB, template string, said ...string) (*shelf, *tinker.SampleRequest) {
	t.Helper()
	conf, err := tokenizer.LoadConfig(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	text := &Text{Tokenizer: loadTiny(t)}
	if text.Template, err = chat.New(template, conf, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if text.Ends, err = text.Template.StopIDs(text.Tokenizer); err != nil || len(text.Ends) == 0 {
		t.Fatal(text.Ends, err)
	}
	asked := new(tinker.SampleRequest)
	return &shelf{Model{Text: text, Context: 4096, Sampler: &script{text, said, asked}}}, asked
}

const toolBody = `{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function",` +
	`"function":{"name":"add","parameters":{}}},{"type":"function","function":{"name":"sub","parameters":{}}}]`

func TestToolCalls(t *testing.T) {
	two := "I add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>\n" +
		"<tool_call>\n{\"name\": \"sub\", \"arguments\": {}}\n</tool_call>"
	for _, c := range []called{
		{"auto", two, "", "I add.", `add {"a":1} sub {} `, "", "tool_calls"},
		{"none", two, `,"tool_choice":"none"`, two, "", "", "stop"},
		{"not parallel", two, `,"parallel_tool_calls":false`, "I add.", `add {"a":1} `, "", "tool_calls"},
		{"text", "Hello", `,"tool_choice":"auto"`, "Hello", "", "", "stop"},
		{"required", `sub", "arguments": {"b": 2}}` + "\n</tool_call>", `,"tool_choice":"required"`, "", `sub {"b":2} `,
			"<tool_call>\n{\"name\": \"", "tool_calls"},
		{"named", `{"b": 2}}`, `,"tool_choice":{"type":"function","function":{"name":"sub"}}`, "", `sub {"b":2} `,
			"<tool_call>\n{\"name\": \"sub\", \"arguments\": ", "tool_calls"},
		{"a thought", "Hm.\n</think>\n\nHello", `,"chat_template_kwargs":{"thinking":true}`, "Hello", "", "<think>\n",
			"stop"},
	} {
		m, asked := tools(t, c.said)
		c.check(t, m, asked, toolBody+c.more)
	}
}

// called is a chat with tools and what comes of it, whole and as a stream.
type called struct {
	name, said, more, content, calls, prompt, finish string
}

// check asks with a body that lacks its last brace.
func (c called) check(t *testing.T, m *shelf, asked *tinker.SampleRequest, body string) {
	t.Helper()
	whole := decodeAnswer(t, ask(t, m, "chat", body+"}").Body.String())
	if whole.Error != nil {
		t.Errorf("%s: %+v", c.name, whole.Error)
		return
	}
	ids, _ := asked.Prompt.Tokens()
	if prompt := m.Text.Tokenizer.Decode(ids, false); !strings.HasSuffix(prompt, c.prompt) {
		t.Errorf("%s: the prompt is %q, want %q at its end", c.name, prompt, c.prompt)
	}
	content, calls, finish := "", "", ""
	for _, e := range eventsOf(t, ask(t, m, "chat", body+`,"stream":true}`)) {
		d := e.Choices[0]
		content, finish = content+d.Delta.Content, finish+d.Finish
		for _, x := range d.Delta.ToolCalls {
			calls += x.Function.Name + " " + x.Function.Arguments + " "
		}
	}
	w, wholeCalls := whole.Choices[0], ""
	for _, x := range w.Message.ToolCalls {
		wholeCalls += x.Function.Name + " " + x.Function.Arguments + " "
	}
	if content != c.content || calls != c.calls || finish != c.finish || w.Message.Content != c.content ||
		wholeCalls != c.calls || w.Finish != c.finish {
		t.Errorf("%s: stream %q %q %s, whole %q %q %s", c.name, content, calls, finish, w.Message.Content,
			wholeCalls, w.Finish)
	}
}
