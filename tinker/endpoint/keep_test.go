package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// paper is an answer that may be read while it is written.
type paper struct {
	mu sync.Mutex
	httptest.ResponseRecorder
}

func newPaper() *paper { return &paper{ResponseRecorder: *httptest.NewRecorder()} }

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ResponseRecorder.Write(b)
}

func (p *paper) WriteString(s string) (int, error) { return p.Write([]byte(s)) }

func (p *paper) read() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Body.String()
}

// diary is a Keeper that writes down what it is told.
type diary struct {
	mu     sync.Mutex
	w      *paper
	asked  *Asked
	kept   []Kept
	seen   []string // of the answer at each record
	refuse error
}

// Prompt implements Keeper: it knows the ids of one text.
func (d *diary) Prompt(text string, encode func(string) ([]int32, error)) ([]int32, error) {
	rest, ok := strings.CutPrefix(text, "abab")
	if !ok {
		return encode(text)
	}
	more, err := encode(rest)
	return append([]int32{97, 98, 97, 98}, more...), err
}

// Params implements Keeper.
func (d *diary) Params(a *Asked) ([]string, error) {
	d.asked = a
	a.Params.Temperature = 0
	if a.Gives("temperature") {
		return []string{"temperature", "other"}, nil
	}
	return nil, nil
}

// Record implements Keeper.
func (d *diary) Record(ctx context.Context, k Kept) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept, d.seen = append(d.kept, k), append(d.seen, d.w.read())
	return errors.Join(d.refuse, ctx.Err())
}

// noted sends a body for a model with a diary.
func noted(t *testing.T, m *shelf, path, body string) (*diary, *httptest.ResponseRecorder) {
	t.Helper()
	d := &diary{w: newPaper()}
	return d, d.send(t.Context(), m, path, body)
}

func (d *diary) send(ctx context.Context, m *shelf, path, body string) *httptest.ResponseRecorder {
	own := *m
	own.Keeper, own.Name = d, "kept"
	a := New(&own, func() time.Time { return time.Unix(1e9, 0) })
	call := a.Complete
	if path == "chat" {
		call = a.Chat
	}
	if err := call(ctx, d.w, "me", []byte(body)); err != nil {
		param.ErrorOf(err).Write(d.w)
	}
	return &d.w.ResponseRecorder
}

// Everything is recorded before the client hears how it ended, whole and as a stream, and is what the client hears.
func TestKeeperRecordsFirst(t *testing.T) {
	m := newTiny(t)
	for _, c := range []struct{ path, body string }{
		{"chat", `{"model":"tiny","messages":[{"role":"user","content":"2+2?"}],"n":2,"seed":3,"temperature":1.5,` +
			`"return_token_ids":true`},
		{"completion", `{"model":"tiny","prompt":["abab!","2+2"],"n":2,"temperature":1,"max_tokens":9,` +
			`"return_token_ids":true`},
	} {
		d, w := noted(t, m, c.path, c.body+"}")
		whole := decodeAnswer(t, w.Body.String())
		s, sw := noted(t, m, c.path, c.body+`,"stream":true}`)
		for _, h := range []string{w.Header().Get("X-Trinity-Overrode"), sw.Header().Get("X-Trinity-Overrode")} {
			if h != "temperature,other" {
				t.Errorf("%s: the header says %q", c.path, h)
			}
		}
		prompts := len(d.asked.Prompts)
		if len(d.kept) != prompts || len(s.kept) != prompts || d.asked.N != 2 || !d.asked.Gives("n") ||
			d.asked.Gives("top_p") {
			t.Fatalf("%s: %d and %d records of %d prompts; %+v", c.path, len(d.kept), len(s.kept), prompts, d.asked)
		}
		for i, k := range d.kept {
			if d.seen[i] != "" || k.ID != d.asked.ID || k.Params.Temperature != 0 || len(k.Sequences) != 2 {
				t.Errorf("%s: at record %d the client had %q; %+v", c.path, i, d.seen[i], k)
			}
			for j, q := range k.Sequences {
				if got := whole.Choices[2*i+j]; !slices.Equal(got.TokenIDs, q.Tokens) {
					t.Errorf("%s: recorded %v, sent %v", c.path, q.Tokens, got.TokenIDs)
				}
			}
			if c.path == "chat" != (string(k.Messages) == `[{"role":"user","content":"2+2?"}]`) {
				t.Errorf("%s: messages %s", c.path, k.Messages)
			}
		}
		if c.path == "completion" && !slices.Equal(d.kept[0].Prompt[:4], []int32{97, 98, 97, 98}) {
			t.Errorf("the prompt is %v", d.kept[0].Prompt)
		}
		ends := 0
		for _, e := range eventsOf(t, sw) {
			for _, x := range e.Choices {
				if x.Finish != "" {
					ends++
				}
			}
		}
		if ends != 2*prompts || strings.Contains(s.seen[0], `"finish_reason":"`) || s.seen[0] == "" ||
			strings.Contains(s.seen[prompts-1], "[DONE]") {
			t.Errorf("%s: %d ends; at the first record the client had %s", c.path, ends, s.seen[0])
		}
		var message struct{ Content string }
		if err := json.Unmarshal(d.kept[0].Message(1), &message); err != nil ||
			message.Content != whole.Choices[1].Message.Content+whole.Choices[1].Text {
			t.Errorf("%s: %v, message %s", c.path, err, d.kept[0].Message(1))
		}
	}
}

// What cannot be recorded is an error for the client, who hears neither an end nor [DONE].
func TestKeeperRefusesToRecord(t *testing.T) {
	m := newTiny(t)
	const body = `{"model":"tiny","messages":[{"role":"user","content":"2+2?"}]`
	d := &diary{w: newPaper(), refuse: errors.New("the disk is full")}
	if w := d.send(t.Context(), m, "chat", body+"}"); w.Code != 500 || !strings.Contains(w.Body.String(), "disk") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	d.w = newPaper()
	w := d.send(t.Context(), m, "chat", body+`,"stream":true}`)
	if s := w.Body.String(); strings.Contains(s, "[DONE]") || strings.Contains(s, `"finish_reason":"`) ||
		!strings.HasSuffix(strings.TrimSpace(s), `"type":"server_error"}}`) {
		t.Errorf("%s", s)
	}
}

// departing ends a context once the answer has begun.
type departing struct {
	*paper
	leave func()
}

func (d departing) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("content")) {
		d.leave()
	}
	return d.paper.Write(p)
}

func (d departing) WriteString(s string) (int, error) { return d.Write([]byte(s)) }

// A client that goes before its answer is complete leaves no record.
func TestKeeperForgetsTheDeparted(t *testing.T) {
	m := newTiny(t)
	d := &diary{w: newPaper()}
	own := *m
	own.Keeper = d
	ctx, leave := context.WithCancel(t.Context())
	err := New(&own, time.Now).Chat(ctx, departing{d.w, leave}, "me", []byte(`{"model":"tiny","stream":true,
		"ignore_eos":true,"messages":[{"role":"user","content":"2+2?"}]}`))
	if err != nil || d.w.Body.Len() == 0 || len(d.kept) != 0 {
		t.Errorf("%v; %d records; sent %s", err, len(d.kept), d.w.Body)
	}
	if _, err := tinker.Sample(t.Context(), m.Sampler, tinker.SampleRequest{Prompt: tinker.Text([]int32{5}),
		NumSamples: 1, Params: tinker.SamplingParams{MaxTokens: 1, TopP: 1, TopK: -1}}); err != nil {
		t.Error("the sampler was left busy:", err)
	}
}

// A run's enable_thinking is for requests that say nothing of it.
func TestThinkingOfTheRun(t *testing.T) {
	const template = "{{ enable_thinking }}{%- for m in messages %}{{ m.content }}<|im_end|>{%- endfor %}"
	m, asked := toolsOf(t, template, "Hello")
	off := false
	m.Text.Thinking = &off
	for more, want := range map[string]string{``: "False", `,"chat_template_kwargs":{"enable_thinking":true}`: "True"} {
		_, w := noted(t, m, "chat", `{"model":"tiny","messages":[{"role":"user","content":"Hi"}]`+more+"}")
		ids, _ := asked.Prompt.Tokens()
		if got := m.Text.Tokenizer.Decode(ids, true); w.Code != 200 || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %d, the prompt is %q, want %s", more, w.Code, got, want)
		}
	}
}
