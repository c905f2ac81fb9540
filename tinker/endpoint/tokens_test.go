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

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

func tokenize(a *API) handler   { return a.Tokenize }
func detokenize(a *API) handler { return a.Detokenize }
func generate(a *API) handler   { return a.Generate }

// tokenizerInfo has the model's name as its body.
func tokenizerInfo(a *API) handler {
	return func(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
		return a.TokenizerInfo(ctx, w, tenant, string(body))
	}
}

// withTemplate gives a model another chat template.
func withTemplate(t testing.TB, m *shelf, template string) {
	t.Helper()
	conf, err := tokenizer.LoadConfig(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	if m.Text.Template, err = chat.New(template, conf, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
}

// generationBody is what the tests read of a generation, whole or added up from events.
type generationBody struct {
	RequestID string `json:"request_id"`
	Choices   []struct {
		Index    int
		TokenIDs []int32 `json:"token_ids"`
		Logprobs *logprobs
		Finish   string `json:"finish_reason"`
	}
	Prompt []map[string]struct {
		Logprob float32
		Rank    *int
	} `json:"prompt_logprobs"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	Error *struct {
		Message string
		Code    *string
	}
}

// sends sends a body to a route whose errors have OpenAI's form.
func sends(t testing.TB, m Models, call func(*API) handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := call(New(m, time.Now))(t.Context(), w, "me", []byte(body)); err != nil {
		param.ErrorOf(err).Write(w)
	}
	return w
}

// generation sends a body and reads the generation, adding up its events.
func generation(t testing.TB, m Models, body string) (out generationBody) {
	t.Helper()
	w := sends(t, m, generate, body)
	raw := w.Body.String()
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		if err := json.Unmarshal([]byte(raw), &out); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		return out
	}
	events := strings.Split(strings.TrimSuffix(raw, "\n\n"), "\n\n")
	if events[len(events)-1] != "data: [DONE]" {
		t.Fatalf("the stream ends with %q", events[len(events)-1])
	}
	for _, e := range events[:len(events)-1] {
		var one generationBody
		if err := json.Unmarshal([]byte(strings.TrimPrefix(e, "data: ")), &one); err != nil {
			t.Fatalf("%v: %q", err, e)
		}
		out.RequestID, out.Usage = one.RequestID, one.Usage
		if one.Error != nil {
			out.Error = one.Error
		}
		for _, c := range one.Choices {
			for len(out.Choices) <= c.Index {
				out.Choices = slices.Grow(out.Choices, 1)[:len(out.Choices)+1]
			}
			to := &out.Choices[c.Index]
			to.Index, to.TokenIDs, to.Finish = c.Index, append(to.TokenIDs, c.TokenIDs...), to.Finish+c.Finish
			if c.Logprobs != nil && to.Logprobs == nil {
				to.Logprobs = &logprobs{}
			}
			if c.Logprobs != nil {
				to.Logprobs.Content = append(to.Logprobs.Content, c.Logprobs.Content...)
			}
		}
	}
	return out
}

// A generation has the tokens and bits of the sampler, several samples, the likeliest tokens and those of the prompt.
func TestGenerate(t *testing.T) {
	m := newTiny(t)
	prompt := m.Text.Tokenizer.Encode("What is 3 + 4?", false)
	p := tinker.DefaultSampling()
	seed := uint64(9)
	p.Seed, p.MaxTokens, p.Temperature, p.StopTokens = &seed, 30, 1.4, append([]int32{prompt[0]}, m.Text.Ends...)
	want, err := tinker.Sample(t.Context(), m.Sampler, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 3,
		Params: p, PromptLogprobs: true, TopKSampleLogprobs: 2, TopKPromptLogprobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	body := func(more, params string) string {
		return fmt.Sprintf(`{"model":"tiny","request_id":"r1","cache_salt":"v3","priority":0,"token_ids":%s,%s
			"sampling_params":{"n":3,"seed":9,"max_tokens":30,"temperature":1.4,"stop_token_ids":[%d],"top_p":1.0,
			"top_k":-1,"min_p":0,"skip_special_tokens":false,"detokenize":false,"output_kind":2,"logprobs":2%s}}`,
			param.Encoded(prompt), more, prompt[0], params)
	}
	whole := generation(t, m, body("", `,"prompt_logprobs":1`))
	stream := generation(t, m, body(`"stream":true,"stream_options":{"include_usage":true},`, ""))
	for name, got := range map[string]generationBody{"whole": whole, "stream": stream} {
		if got.Error != nil || got.RequestID != "r1" || len(got.Choices) != 3 {
			t.Fatalf("%s: %+v %+v", name, got.Error, got)
		}
		total := 0
		for i, q := range want.Sequences {
			c := got.Choices[i]
			total += len(q.Tokens)
			if c.Index != i || !slices.Equal(c.TokenIDs, q.Tokens) || !slices.Equal(c.Logprobs.bits(), q.Logprobs) ||
				c.Finish != string(q.StopReason) {
				t.Errorf("%s, sample %d: %+v, want %+v", name, i, c, q)
			}
			for j, x := range c.Logprobs.Content {
				if x.Token != fmt.Sprintf("token_id:%d", q.Tokens[j]) || x.TokenID != q.Tokens[j] || len(x.Top) != 2 ||
					x.Top[1].TokenID != q.TopKLogprobs[j][1].Token || x.Top[1].Logprob != q.TopKLogprobs[j][1].Logprob {
					t.Fatalf("%s, sample %d, token %d: %+v, want %+v", name, i, j, x, q.TopKLogprobs[j])
				}
			}
		}
		if got.Usage == nil || got.Usage.Prompt != len(prompt) || got.Usage.Completion != total {
			t.Errorf("%s: usage %+v, want %d and %d", name, got.Usage, len(prompt), total)
		}
	}
	if len(whole.Prompt) != len(prompt) || whole.Prompt[0] != nil {
		t.Fatalf("prompt_logprobs: %+v", whole.Prompt)
	}
	for i := 1; i < len(prompt); i++ {
		at := whole.Prompt[i]
		own := at[fmt.Sprint(prompt[i])]
		best := want.TopKPromptLogprobs[i][0]
		likeliest := at[fmt.Sprint(best.Token)]
		if own.Logprob != want.PromptLogprobs[i] || likeliest.Logprob != best.Logprob || likeliest.Rank == nil ||
			*likeliest.Rank != 1 || len(at) > 2 {
			t.Errorf("prompt_logprobs[%d]: %+v, want %v and %+v", i, at, want.PromptLogprobs[i], best)
		}
	}
	few := generation(t, m, `{"model":"tiny","token_ids":[5,6],"sampling_params":{"logprobs":0,"prompt_logprobs":3,`+
		`"max_tokens":1}}`)
	if len(few.Prompt[1]) < 3 || len(few.Choices[0].Logprobs.Content[0].Top) != 0 {
		t.Errorf("logprobs 0 and prompt_logprobs 3: %+v", few)
	}
	if c := generation(t, m, `{"model":"tiny","token_ids":[5,6],"sampling_params":{}}`); c.Choices[0].Logprobs != nil ||
		c.Prompt != nil || len(c.Choices[0].TokenIDs) < 17 && c.Choices[0].Finish == "length" {
		t.Errorf("without parameters: %+v", c)
	}
}

func TestTokenRoutes(t *testing.T) {
	m := newTiny(t)
	ids := m.Text.Tokenizer.Encode("What is 3 + 4?", true)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = m.Text.Tokenizer.Token(id)
	}
	long := strings.Repeat("9", 8)
	for _, c := range []struct {
		call   func(*API) handler
		body   string
		status int
		want   string // a part of the answer
	}{
		{tokenize, `{"model":"tiny","prompt":"What is 3 + 4?"}`, 200, fmt.Sprintf(
			`{"count":%d,"max_model_len":%d,"token_strs":null,"tokens":%s}`, len(ids), m.Context, param.Encoded(ids))},
		{tokenize, `{"prompt":"What is 3 + 4?","return_token_strs":true,"add_special_tokens":false}`, 200,
			`"token_strs":` + string(param.Encoded(names))},
		{tokenize, `{"prompt":""}`, 200, `"count":0,`},
		{tokenize, `{"prompt":"a","messages":[]}`, 400, "send one of prompt and messages"},
		{tokenize, `{"model":"tiny"}`, 400, "send one of prompt and messages"},
		{tokenize, `{"model":"tiny","prompt":["a"]}`, 400, "prompt is"},
		{tokenize, `{"model":"tiny","messages":[]}`, 400, "at least one message"},
		{tokenize, `{"model":"tiny","prompt":"a","chat_template":"x"}`, 400, "chat_template"},
		{tokenize, `{"model":"other","prompt":"a"}`, 404, "not found"},
		{tokenize, `{"model":"tiny","prompt":"a","promt":"b"}`, 400, "Unrecognized request argument supplied: promt"},
		{detokenize, `{"model":"tiny","tokens":` + string(param.Encoded(ids)) + `}`, 200,
			`{"prompt":"What is 3 + 4?"}`},
		{detokenize, fmt.Sprintf(`{"tokens":[%d]}`, m.Text.Ends[0]), 200, `\u003c|im_end|\u003e`},
		{detokenize, `{"tokens":[]}`, 200, `{"prompt":""}`},
		{detokenize, `{}`, 400, "tokens is missing"},
		{detokenize, `{"tokens":[1,-1]}`, 400, "tokens[1] is -1"},
		{detokenize, `{"tokens":[` + long + `]}`, 400, "tokens[0] is " + long},
		{detokenize, `{"tokens":"a"}`, 400, "not a list of token ids"},
		{tokenizerInfo, "tiny", 200, `"tokenizer_class":"PreTrainedTokenizerFast"`},
		{tokenizerInfo, "", 200, `"chat_template":"{%- for message in messages %}`},
		{tokenizerInfo, "other", 404, "not found"},
		{generate, `{"model":"tiny","sampling_params":{}}`, 400, "token_ids is missing"},
		{generate, `{"model":"tiny","token_ids":[5]}`, 400, "sampling_params is missing"},
		{generate, `{"model":"tiny","token_ids":[],"sampling_params":{}}`, 400, "a prompt is empty"},
		{generate, `{"model":"tiny","token_ids":[5,-6],"sampling_params":{}}`, 400, "token_ids[1] is -6"},
		{generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"temprature":1}}`, 400, "temprature"},
		{generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"logprobs":21}}`, 400, "logprobs is 21"},
		{generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"logprobs":-1}}`, 400, "logprobs is -1"},
		{generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"repetition_penalty":-2}}`, 400,
			"repetition_penalty is -2"},
		{generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"stream":true}}`, 400,
			"stream is not a sampling"},
		{generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"max_tokens":0}}`, 400, "max_tokens is 0"},
		{generate, `{"model":"tiny","token_ids":[5],"sampling_params":{"max_tokens":9999}}`, 400,
			"context_length_exceeded"},
		{generate, `{"model":"tiny","token_ids":[5],"stream":true,"sampling_params":{"prompt_logprobs":0}}`, 400,
			"not streamed"},
		{generate, `{"model":"tiny","token_ids":[5],"priority":3,"sampling_params":{}}`, 400, "priority is 3"},
		{generate, `{"model":"tiny","token_ids":[5],"prompt":"a","sampling_params":{}}`, 400,
			"Unrecognized request argument supplied: prompt"},
		{generate, `{"token_ids":[5],"sampling_params":{}}`, 400, "model is missing"},
	} {
		w := sends(t, m, c.call, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%.90s: %d %.300s, want %d %s", c.body, w.Code, w.Body, c.status, c.want)
		}
	}
}

// several are models of one tenant, each with a text of its own.
type several map[string]*Text

func (s several) Open(_ context.Context, _, name string) (*Model, error) {
	text, ok := s[name]
	if !ok {
		return nil, fmt.Errorf("model %q: %w", name, tinker.ErrNotFound)
	}
	return &Model{Text: text, Context: 9, Close: func() {}}, nil
}

func (s several) List(context.Context, string) (out []Card, err error) {
	for name := range s {
		out = append(out, Card{ID: name, Kind: "base"})
	}
	return append(out, Card{ID: "tinker://run/sampler_weights/1", Kind: "sampler"}), nil
}

// Without a model's name, base models with one tokenizer are one, and others must be told apart.
func TestTheOnlyTokenizer(t *testing.T) {
	one, two := &Text{Tokenizer: loadTiny(t)}, &Text{Tokenizer: loadTiny(t)}
	for _, c := range []struct {
		models several
		want   string
	}{
		{several{"a": one}, `"count":1`}, {several{"a": one, "b": one}, `"count":1`},
		{several{"a": one, "b": two}, "model is missing, and"}, {several{}, "model is missing"},
	} {
		if w := sends(t, c.models, tokenize, `{"prompt":"7"}`); !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%v: %s, want %s", c.models, w.Body, c.want)
		}
	}
	if w := sends(t, several{"a": one}, tokenizerInfo, "a"); w.Code != 400 {
		t.Errorf("tokenizer_info without a configuration: %d %s", w.Code, w.Body)
	}
}
