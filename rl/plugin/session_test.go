package plugin

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// letters is a model's text of one token for each byte; a conversation is "role:content\x04" for each message, and 4
// ends a turn.
type letters struct{}

func (letters) Encode(text string) ([]int32, error) {
	ids := []int32{}
	for i := range len(text) {
		ids = append(ids, int32(text[i]))
	}
	return ids, nil
}

func (letters) Decode(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		if id != 4 {
			b.WriteByte(byte(id))
		}
	}
	return b.String()
}

func (l letters) Render(messages []chat.Message, o chat.Options) (string, []int32, error) {
	text := ""
	for _, m := range messages {
		text += m.Role + ":" + m.Content + "\x04"
	}
	if o.AddGenerationPrompt {
		text += "assistant:"
	}
	ids, err := l.Encode(text)
	return text, ids, err
}

func (l letters) Prompt(messages []chat.Message) (string, []int32, error) {
	return l.Render(messages, chat.Options{AddGenerationPrompt: true})
}

// counting is a model whose logprob of a token is a function of the token and its place, and which answers "yes". It
// counts the prompts that it was asked to score.
type counting struct{ scored int }

func logprobOf(id int32, at int) float32 { return -float32(id)/1000 - float32(at)/7 }

func (c *counting) Sample(_ context.Context, r tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	prompt, _ := r.Prompt.Tokens()
	var res tinker.SampleResponse
	if r.PromptLogprobs {
		c.scored++
		for i, id := range prompt {
			res.PromptLogprobs = append(res.PromptLogprobs, logprobOf(id, i))
		}
		res.PromptLogprobs[0] = float32(math.NaN())
	}
	for range max(1, r.NumSamples) {
		q := tinker.SampledSequence{Tokens: []int32{'y', 'e', 's', 4}, StopReason: tinker.StopStop}
		for i, id := range q.Tokens {
			q.Logprobs = append(q.Logprobs, logprobOf(id, len(prompt)+i))
		}
		res.Sequences = append(res.Sequences, q)
	}
	return tinker.Resolved(res, nil), nil
}

func testSession() (*session, *counting) {
	model := &counting{}
	r := &workflow.Rollout{Sampler: model, Params: tinker.DefaultSampling(), Renderer: letters{}}
	return newSession(nil, r, workflow.Task{Batch: "1", ID: "0", Repeat: 1, Seed: 7}, 0), model
}

// ask makes a call back and reads its answer as Python would.
func ask(t *testing.T, s *session, name, args string, to any) {
	t.Helper()
	got, err := s.up(t.Context(), name, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const first = `[{"role":"user","content":"a"}]`
const second = `[{"role":"user","content":"a"},{"role":"assistant","content":"yes"},{"role":"user","content":"b"}]`

// offered is a rollout with calls.
type offered struct {
	workflow.Offered
	calls []workflow.Answer
}

func (o *offered) Calls() []workflow.Answer { return o.calls }

// What a URL recorded stays known when its rollout is over, as it is when the run ends beside a workflow.
func TestRecordedStays(t *testing.T) {
	s, _ := testSession()
	o := &offered{calls: []workflow.Answer{{Text: "a"}, {Text: "b"}}}
	s.offered = o
	for range 2 {
		if n := len(s.called(0)); n != 2 {
			t.Errorf("%d calls are known, want 2", n)
		}
		o.calls = nil
	}
}

// A conversation that was sampled is converted to the ids and logprobs of sampling, and nothing is scored for it.
func TestConvertSampled(t *testing.T) {
	s, model := testSession()
	var one []returnedAnswer
	ask(t, s, "model.chat", `{"messages":`+first+`,"params":{},"nth":0}`, &one)
	ask(t, s, "model.chat", `{"messages":`+second+`,"params":{},"nth":0}`, &one)
	var whole returnedAnswer
	ask(t, s, "model.convert", `{"messages":`+strings.TrimSuffix(second, "]")+`,{"role":"assistant","content":"yes"},`+
		`{"role":"user","content":"bye"}]}`, &whole)
	if want := "user:a\x04assistant:yes\x04user:b\x04assistant:yes\x04"; letterText(whole.Tokens) != want {
		t.Errorf("tokens %q, want %q", letterText(whole.Tokens), want)
	}
	if got := maskText(whole); got != "yes\x04yes\x04" {
		t.Errorf("it trains %q", got)
	}
	checkLogprobs(t, whole)
	if model.scored != 0 {
		t.Errorf("%d prompts were scored", model.scored)
	}
}

// An answer that nobody sampled is trained with the logprobs of the model.
func TestConvertEdited(t *testing.T) {
	s, model := testSession()
	var whole returnedAnswer
	ask(t, s, "model.convert", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"no"}]}`,
		&whole)
	if got := maskText(whole); got != "no\x04" {
		t.Errorf("it trains %q", got)
	}
	checkLogprobs(t, whole)
	if model.scored != 1 {
		t.Errorf("%d prompts were scored", model.scored)
	}
	if _, err := s.up(t.Context(), "model.convert", json.RawMessage(`{"messages":`+first+`}`)); err == nil {
		t.Error("a conversation without an answer was converted")
	}
}

// returnedAnswer is an answer as Python reads it.
type returnedAnswer struct {
	Ref      int      `json:"ref"`
	Tokens   int32s   `json:"tokens"`
	Logprobs float32s `json:"logprobs"`
	Mask     bools    `json:"mask"`
	Prompt   int      `json:"prompt_length"`
}

func letterText(ids []int32) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteByte(byte(id))
	}
	return b.String()
}

func maskText(a returnedAnswer) string {
	var ids []int32
	for i, on := range a.Mask {
		if on {
			ids = append(ids, a.Tokens[a.Prompt+i])
		}
	}
	return letterText(ids)
}

func checkLogprobs(t *testing.T, a returnedAnswer) {
	t.Helper()
	for i, on := range a.Mask {
		if want := logprobOf(a.Tokens[a.Prompt+i], a.Prompt+i); on && !sameBits(a.Logprobs[i], want) {
			t.Errorf("token %d has logprob %v, want %v", i, a.Logprobs[i], want)
		}
	}
}

// What Python returns is built of what was sampled, or refused.
func TestBuild(t *testing.T) {
	s, _ := testSession()
	var one []returnedAnswer
	ask(t, s, "model.chat", `{"messages":`+first+`,"params":{"n":2},"nth":0}`, &one)
	tokens, _ := json.Marshal(one[0].Tokens)
	other, _ := json.Marshal(append(slices.Clone(one[0].Tokens[:len(one[0].Tokens)-1]), 9))
	prompt := len(one[0].Tokens) - 4
	for name, tt := range map[string]struct{ in, err string }{
		"as sampled":      {`{"ref":0,"prompt_length":17,"reward":1}`, ""},
		"the same tokens": {`{"ref":1,"prompt_length":17,"reward":1,"tokens":` + string(tokens) + `}`, ""},
		"a mask":          {`{"ref":0,"prompt_length":17,"reward":1,"mask":"AQAAAQ=="}`, ""},
		"a longer prompt": {`{"ref":0,"prompt_length":18,"reward":1}`, ""},
		"by hand":         {`{"prompt_length":17,"reward":1,"tokens":` + string(tokens) + `}`, ""},
		"other tokens": {`{"ref":0,"prompt_length":17,"reward":1,"tokens":` + string(other) + `}`,
			"not those that were"},
		"other logprobs": {`{"ref":0,"prompt_length":17,"reward":1,"logprobs":"AAAAAAAAAAAAAAAAAAAAAA=="}`,
			"logprobs"},
		"a wrong mask":     {`{"ref":0,"prompt_length":17,"reward":1,"mask":"AQ=="}`, "action_mask has 1 entries"},
		"no such ref":      {`{"ref":7,"prompt_length":17,"reward":1}`, "another run of a workflow"},
		"of a judge":       {`{"ref":-1,"prompt_length":1,"reward":1}`, "auxiliary model"},
		"no reward":        {`{"ref":0,"prompt_length":17}`, "no reward"},
		"NaN":              {`{"ref":0,"prompt_length":17,"reward":"NaN"}`, "reward is NaN"},
		"infinite":         {`{"ref":0,"prompt_length":17,"reward":"-Infinity"}`, "reward is -Inf"},
		"a NaN metric":     {`{"ref":0,"prompt_length":17,"reward":1,"metrics":{"x":"NaN"}}`, `metric "x" is NaN`},
		"no tokens":        {`{"prompt_length":1,"reward":1,"tokens":""}`, "no tokens"},
		"a prompt too far": {`{"prompt_length":99,"reward":1,"tokens":` + string(tokens) + `}`, "prompt_length is 99"},
	} {
		t.Run(name, func(t *testing.T) {
			var x returned
			in := strings.ReplaceAll(strings.ReplaceAll(tt.in, ":17", ":"+itoa(prompt)), ":18", ":"+itoa(prompt+1))
			if err := json.Unmarshal([]byte(in), &x); err != nil {
				t.Fatal(err)
			}
			list, err := s.experiences(t.Context(), []returned{x}, Part{})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v; want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			e := list[0]
			for i, on := range e.ActionMask {
				at := e.PromptLength + i
				if want := logprobOf(e.Tokens[at], at); on && !sameBits(e.Logprobs[i], want) {
					t.Errorf("token %d has logprob %v, want %v", i, e.Logprobs[i], want)
				}
			}
			if e.EID.Batch != "1" || e.EID.Task != "0" || e.RewardOr(0) != 1 {
				t.Errorf("%v, reward %v", e.EID, e.RewardOr(0))
			}
		})
	}
}

func itoa(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// The draws of a call depend on what is asked and how often the same was asked before.
func TestSeeds(t *testing.T) {
	s, _ := testSession()
	a := func(nth int, params string) *asking { return &asking{Nth: nth, Params: json.RawMessage(params)} }
	base := s.seedOf(a(0, `{}`), []int32{1, 2}, 0)
	if got := s.seedOf(a(0, `{}`), []int32{1, 2}, 0); got != base {
		t.Error("the same call has another seed")
	}
	for what, got := range map[string]uint64{"another count": s.seedOf(a(1, `{}`), []int32{1, 2}, 0),
		"another prompt":    s.seedOf(a(0, `{}`), []int32{1, 3}, 0),
		"other parameters":  s.seedOf(a(0, `{"n":2}`), []int32{1, 2}, 0),
		"another of a list": s.seedOf(a(0, `{}`), []int32{1, 2}, 1)} {
		if got == base {
			t.Errorf("%s has the same seed", what)
		}
	}
}

func TestWireKeepsBits(t *testing.T) {
	want := float32s{0, -0.1, float32(math.Inf(-1)), math.Float32frombits(0x80000001), math.MaxFloat32}
	text, err := json.Marshal(want)
	var got float32s
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || !slices.EqualFunc(got, want, sameBits) {
		t.Errorf("%v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`"AAA="`), &got); err == nil {
		t.Error("two bytes are a number")
	}
}

func FuzzReturned(f *testing.F) {
	f.Add(`{"ref":0,"prompt_length":1,"tokens":"AAAAAA==","mask":"AQ==","reward":"NaN","metrics":{"a":1}}`)
	f.Add(`{"prompt_length":-1,"tokens":"AQAAAAIAAAA=","reward":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		var x returned
		if json.Unmarshal([]byte(text), &x) != nil {
			return
		}
		s, _ := testSession()
		if list, err := s.experiences(t.Context(), []returned{x}, Part{Repeats: true}); err == nil {
			if err := list[0].Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestScan(t *testing.T) {
	m := Scan([]string{"testdata/plugins"})
	if m["POLICY_LOSS_FN"]["my_torch_loss"] != "testdata/plugins/losses.py:6" {
		t.Errorf("%v", m["POLICY_LOSS_FN"])
	}
	if m["READER"]["counting"] == "" || m["WORKFLOWS"]["own_simple"] == "" {
		t.Errorf("%v", m)
	}
}
