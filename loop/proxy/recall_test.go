package proxy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// foreign answers with ids that the encoder does not give: those of the bytes, where two letters are one token.
type foreign struct {
	text  string
	asked []int32
}

func (f *foreign) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	f.asked, _ = req.Prompt.Tokens()
	q := tinker.SampledSequence{StopReason: tinker.StopLength}
	for _, c := range []byte(f.text) {
		q.Tokens, q.Logprobs = append(q.Tokens, int32(c)), append(q.Logprobs, -0.25)
	}
	return tinker.Resolved(tinker.SampleResponse{Sequences: []tinker.SampledSequence{q}}, nil), nil
}

// held is how many answers the last prompt holds as they were sampled.
func (f *foreign) held() (n int) {
	for i := range f.asked {
		if len(f.asked)-i >= len(f.text) && sameBytes(f.asked[i:i+len(f.text)], f.text) {
			n++
		}
	}
	return n
}

func sameBytes(ids []int32, text string) bool {
	for i, id := range ids {
		if id != int32(text[i]) {
			return false
		}
	}
	return true
}

// A conversation that comes back continues with the ids that were sampled, also after a restart. One whose
// answers were changed is rendered anew, and counted.
func TestConversationsContinue(t *testing.T) {
	address := history(t)
	steps := map[int][]*experience.Experience{}
	sampler := &foreign{text: "abab"}
	start := func() *fixture {
		f := newFixture(t, address)
		f.proxy.Context = 500
		f.proxy.Options.Commit = func(_ context.Context, step int,
			list []*experience.Experience) (map[string]float64, error) {
			steps[step] = list
			return nil, nil
		}
		f.proxy.Use(3, sampler)
		return f
	}
	ask := func(f *fixture, words ...string) string {
		var list []string
		for i, w := range words {
			list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, []string{"user", "assistant"}[i%2], w))
		}
		status, body := f.post("/v1/chat/completions", `{"messages":[`+strings.Join(list, ",")+`]}`)
		if status != 200 {
			t.Fatalf("%d: %v", status, body)
		}
		return body["id"].(string)
	}
	f := start()
	ids := []string{ask(f, "2+2?")}
	if got := sampler.held(); got != 0 {
		t.Errorf("the first prompt holds %d answers as sampled", got)
	}
	ids = append(ids, ask(f, "2+2?", "abab", "sure?"))
	if got := sampler.held(); got != 1 {
		t.Errorf("the second prompt holds %d answers as sampled, want 1", got)
	}
	if got, want := f.proxy.Text.Tokenizer.Decode(sampler.asked, true),
		"user:2+2?\nassistant:abab\nuser:sure?\nassistant:"; got != want {
		t.Errorf("the second prompt reads %q, want %q", got, want)
	}
	f = start()
	ids = append(ids, ask(f, "2+2?", "abab", "sure?", "abab", "really?"))
	if got := sampler.held(); got != 2 {
		t.Errorf("after a restart the prompt holds %d answers as sampled, want 2", got)
	}
	ids = append(ids, ask(f, "2+2?", "Abab.", "sure?"))
	if got := sampler.held(); got != 0 {
		t.Errorf("a changed conversation holds %d answers as sampled", got)
	}
	f.post("/feedback", fmt.Sprintf(`{"reward": 1, "msg_ids": ["%s"], "task_id": "t"}`, strings.Join(ids, `","`)))
	f.post("/commit", "")
	var anew []float64
	for _, e := range steps[1] {
		anew = append(anew, e.Metrics[workflow.NewSequences])
	}
	if want := []float64{0, 0, 0, 1}; fmt.Sprint(anew) != fmt.Sprint(want) {
		t.Errorf("new sequences %v, want %v", anew, want)
	}
}

// A plain completion continues in the same way.
func TestCompletionsContinue(t *testing.T) {
	f := newFixture(t, history(t))
	sampler := &foreign{text: "b"} // ab is one token
	f.proxy.Use(3, sampler)
	for _, prompt := range []string{"a", "aba", "abab!"} {
		if status, body := f.post("/v1/completions", fmt.Sprintf(`{"prompt": %q}`, prompt)); status != 200 {
			t.Fatalf("%d: %v", status, body)
		}
	}
	if got := sampler.held(); got != 2 {
		t.Errorf("the last prompt holds %d answers as sampled, want 2", got)
	}
}

func TestRecallForgets(t *testing.T) {
	r := newRecall()
	for i := range 4 {
		r.add(&chat.Sequence{Text: fmt.Sprint("text ", i), Tokens: make([]int32, recallBytes/12)})
	}
	for i := range 4 {
		if got := r.find(fmt.Sprint("text ", i, " and more")); (len(got.Tokens) > 0) != (i >= 2) {
			t.Errorf("text %d: remembered %v", i, len(got.Tokens) > 0)
		}
	}
	if len(r.byText) != 2 || len(r.order) != 2 || r.length[len("text 0")] != 2 {
		t.Errorf("%d hashes, %d in order, lengths %v", len(r.byText), len(r.order), r.length)
	}
}

func TestHistoryRecent(t *testing.T) {
	h, err := buffer.OpenHistory(t.Context(), history(t), disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for i := range 3 {
		e := experience.Turn{Prompt: []int32{1}, Response: []int32{int32(i)},
			Logprobs: []float32{0}}.Experience(experience.EID{Task: fmt.Sprint(i)})
		if err := h.Record(t.Context(), fmt.Sprint(i), []*experience.Experience{e}); err != nil {
			t.Fatal(err)
		}
	}
	for most, want := range map[int]int{1: 1, 1 << 20: 3} {
		list, err := h.Recent(t.Context(), most)
		if err != nil || len(list) != want || list[want-1].EID.Task != "2" {
			t.Errorf("%d bytes: %d experiences, %v; want the last %d", most, len(list), err, want)
		}
	}
}
