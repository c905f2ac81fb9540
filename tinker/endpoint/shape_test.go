package endpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// verdictSchema has few values, so that a small model comes to an end.
const verdictSchema = `{"type":"object","properties":{"verdict":{"enum":["good","bad"]},"score":{"type":"integer",` +
	`"minimum":0,"maximum":10},"tags":{"type":"array","items":{"enum":["a","b"]},"maxItems":2}},` +
	`"required":["verdict","score"],"additionalProperties":false}`

// isVerdict checks a text against verdictSchema.
func isVerdict(t *testing.T, name, text string) {
	t.Helper()
	var v struct {
		Verdict *string
		Score   *int
		Tags    []string
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil || v.Verdict == nil || v.Score == nil {
		t.Errorf("%s: %q is no verdict: %v", name, text, err)
		return
	}
	if (*v.Verdict != "good" && *v.Verdict != "bad") || *v.Score < 0 || *v.Score > 10 || len(v.Tags) > 2 {
		t.Errorf("%s: %q is no verdict", name, text)
	}
}

// Every interface has answers of the form that is asked for, also from a model that knows nothing of it.
func TestStructuredOutput(t *testing.T) {
	m := newTiny(t)
	openai := `"response_format":{"type":"json_schema","json_schema":{"name":"v","strict":true,"schema":` +
		verdictSchema + `}}`
	for _, x := range []struct {
		name string
		call func(*API) handler
		body string
		text func(raw string) string
	}{
		{"chat", func(a *API) handler { return a.Chat }, asked + `,` + openai, func(raw string) string {
			return decodeAnswer(t, raw).Choices[0].Message.Content
		}},
		{"completions", func(a *API) handler { return a.Complete }, `"model":"tiny","prompt":"Hi","max_tokens":300,` +
			openai, func(raw string) string { return decodeAnswer(t, raw).Choices[0].Text }},
		{"responses", respond, `"model":"tiny","input":"Hi","text":{"format":{"type":"json_schema",` +
			`"name":"v","strict":true,"schema":` + verdictSchema + `}}`, func(raw string) string {
			var r struct {
				Output []struct{ Content []struct{ Text string } }
			}
			mustDecode(t, raw, &r)
			return r.Output[0].Content[0].Text
		}},
		{"messages", func(a *API) handler { return a.Messages }, asked + `,"max_tokens":300,"output_config":` +
			`{"format":{"type":"json_schema","schema":` + verdictSchema + `}}`, func(raw string) string {
			var r struct{ Content []struct{ Text string } }
			mustDecode(t, raw, &r)
			return r.Content[0].Text
		}},
		{"Ollama", ollamaChat, asked + `,"stream":false,"format":` + verdictSchema, func(raw string) string {
			var r struct{ Message struct{ Content string } }
			mustDecode(t, raw, &r)
			return r.Message.Content
		}},
	} {
		for range 5 {
			w := sends(t, m, x.call, "{"+x.body+"}") // each with another seed
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", x.name, w.Code, w.Body)
			}
			isVerdict(t, x.name, x.text(w.Body.String()))
		}
	}
}

func mustDecode(t *testing.T, raw string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(raw), v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
}

// A guided sample is the same alone, beside others and as a stream, and its logprobs are of what the form leaves.
func TestGuidedSamplesAreExact(t *testing.T) {
	m := newTiny(t)
	body := `{` + asked + `,"seed":5,"logprobs":true,"top_logprobs":20,"response_format":{"type":"json_schema",` +
		`"json_schema":{"schema":` + verdictSchema + `}}`
	alone := decodeAnswer(t, ask(t, m, "chat", body+`}`).Body.String()).Choices[0]
	many := decodeAnswer(t, ask(t, m, "chat", body+`,"n":8}`).Body.String()).Choices
	if alone.Message.Content != many[0].Message.Content || !slices.Equal(alone.Logprobs.Content,
		many[0].Logprobs.Content) {
		t.Errorf("alone %+v, in a batch %+v", alone, many[0])
	}
	var said string
	for _, e := range eventsOf(t, ask(t, m, "chat", body+`,"stream":true}`)) {
		said += e.Choices[0].Delta.Content
	}
	if said != alone.Message.Content {
		t.Errorf("streamed %q, whole %q", said, alone.Message.Content)
	}
	forced := 0 // tokens that no other could replace
	for _, c := range alone.Logprobs.Content {
		if c.Logprob == 0 {
			forced++
		}
	}
	if forced == 0 {
		t.Errorf("no token of %q has the probability 1: %+v", said, alone.Logprobs.Content)
	}
}

// A required call is one of a tool that was offered, with its arguments, in every style.
func TestRequiredCalls(t *testing.T) {
	styled := func(marks string) string { return strings.Replace(toolTemplate, "<tool_call>", marks, 1) }
	schema := `{"properties":{"a":{"type":"integer","maximum":9},"u":{"enum":["kg","lb"]}},"required":["u"]}`
	tools := fmt.Sprintf(`,"tools":[{"type":"function","function":{"name":"w","parameters":%s}},{"type":"function",`+
		`"function":{"name":"m","parameters":{"additionalProperties":false}}}],"parallel_tool_calls":false`, schema)
	m := newTiny(t)
	for name, template := range map[string]string{"qwen": toolTemplate,
		"functions": styled("<tool_call><function=a><parameter=b>"), "pairs": styled("<tool_call><arg_key><arg_value>"),
		"llama": styled("<|python_tag|>"), "generic": styled("")} {
		own := *m
		text := *m.Text
		text.Template = templateOf(t, template)
		own.Text = &text
		for _, choice := range []string{`"required"`, `{"type":"function","function":{"name":"w"}}`} {
			w := ask(t, &own, "chat", `{"seed":1,`+asked+tools+`,"tool_choice":`+choice+`}`)
			a := decodeAnswer(t, w.Body.String())
			if a.Error != nil || len(a.Choices[0].Message.ToolCalls) != 1 {
				t.Errorf("%s, %s: %s", name, choice, w.Body)
				continue
			}
			f := a.Choices[0].Message.ToolCalls[0].Function
			var v struct {
				A *int
				U string
			}
			if json.Unmarshal([]byte(f.Arguments), &v) != nil || v.A != nil && *v.A > 9 ||
				f.Name == "w" && v.U != "kg" && v.U != "lb" ||
				f.Name != "w" && (f.Name != "m" || choice != `"required"`) {
				t.Errorf("%s, %s: %+v", name, choice, f)
			}
			if note := w.Header().Get(noteOf); (note == genericNote) != (name == "generic") {
				t.Errorf("%s: note %q", name, note)
			}
		}
	}
}

// ownKeeper keeps samples for training.
type ownKeeper struct{ diary }

func (k *ownKeeper) Params(a *Asked) ([]string, error) {
	k.asked = a
	return nil, a.OwnDistribution()
}

// Samples that are trained on have the model's own distribution: what changes it is refused by name, and a required
// call is begun and not held to a form.
func TestOwnDistribution(t *testing.T) {
	m, asks := tools(t, "add\", \"arguments\": {}}\n</tool_call>")
	k := &ownKeeper{diary{w: newPaper()}}
	m.Keeper = k
	for name, more := range map[string]string{"response_format": `"response_format":{"type":"json_object"}`,
		"presence_penalty": `"presence_penalty":1`, "logit_bias": `"logit_bias":{"5":1}`,
		"frequency_penalty": `"frequency_penalty":-1`, "repetition_penalty": `"repetition_penalty":1.1`} {
		w := ask(t, m, "chat", `{`+asked+`,`+more+`}`)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), name+" changes the distribution") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	w := ask(t, m, "chat", toolBody+`,"tool_choice":"required","presence_penalty":0}`)
	if a := decodeAnswer(t, w.Body.String()); a.Error != nil || a.Choices[0].Finish != "tool_calls" ||
		asks.Params.Guide != nil {
		t.Errorf("%s, guide %v", w.Body, asks.Params.Guide)
	}
}

func TestPenalties(t *testing.T) {
	m := newTiny(t)
	var s shape
	f, err := param.ReadFields([]byte(`{"presence_penalty":0.5,"frequency_penalty":0.25,"repetition_penalty":2,` +
		`"logit_bias":{"7":-100}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.readPenalties(f, m.Text); err != nil {
		t.Fatal(err)
	}
	row := []float32{1, 2, -3, 4, 5, 6, 7, 8}
	g := s.guide([]int32{0, 2})
	for _, token := range []int32{3, 4, 3} {
		g = g.After(token)
	}
	g.Shape(row)
	if want := []float32{0.5, 2, -6, 1, 1.75, 6, 7, -92}; !slices.Equal(row, want) {
		t.Errorf("%v, want %v", row, want)
	}
	s.penalties.window, s.penalties.bias = 2, nil // the prompt's last tokens count too, and no earlier one
	row = []float32{1, 2, -3}
	s.guide([]int32{0, 1, 2}).Shape(row)
	if want := []float32{1, 0.25, -6.75}; !slices.Equal(row, want) {
		t.Errorf("with a window %v, want %v", row, want)
	}
	banned := decodeAnswer(t, ask(t, m, "completions", `{"model":"tiny","prompt":"1","max_tokens":5,"seed":3,`+
		`"temperature":0,"logprobs":1}`).Body.String()).Choices[0]
	id, _ := m.Text.Tokenizer.TokenID(banned.Logprobs.Tokens[0])
	other := decodeAnswer(t, ask(t, m, "completions", fmt.Sprintf(`{"model":"tiny","prompt":"1","max_tokens":5,`+
		`"seed":3,"temperature":0,"logprobs":20,"logit_bias":{"%d":-100}}`, id)).Body.String()).Choices[0]
	if other.Logprobs.Tokens[0] == banned.Logprobs.Tokens[0] {
		t.Errorf("%q was drawn in spite of its bias", other.Logprobs.Tokens[0])
	}
	sum := 0.0
	for _, x := range other.Logprobs.Top[0] {
		sum += math.Exp(float64(x))
	}
	if sum > 1.0001 || sum < 0.5 {
		t.Errorf("the likeliest tokens have a probability of %v together", sum)
	}
}

func TestGenericMessages(t *testing.T) {
	raw := `[{"role":"user","content":"Hi"},{"role":"assistant","content":"I add.","tool_calls":[{"type":"function",` +
		`"function":{"name":"add","arguments":"{\"a\": 1}"}}]},{"role":"tool","content":"1"},` +
		`{"role":"tool","content":"2"}]`
	messages, err := readMessages([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := jinja.DecodeJSON([]byte(`[{"type":"function","function":{"name":"add"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	said := func(list []chat.Message) (out []string) {
		for _, m := range list {
			out = append(out, m.Role+": "+m.Content)
		}
		return out
	}
	got := said(genericMessages(messages, tool.(jinja.List), true))
	want := []string{"user: Hi",
		"assistant: I add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\":1}}\n</tool_call>",
		"user: <tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"}
	if !slices.Equal(got[1:], want) || !strings.HasSuffix(got[0], `{"type":"function","function":{"name":"add"}}`) {
		t.Errorf("%q", got)
	}
	if got := said(genericMessages(messages, tool.(jinja.List), false)); !strings.HasSuffix(got[0], "\n\nHi") ||
		!slices.Equal(got[1:], want[1:]) {
		t.Errorf("without a system %q", got)
	}
}
