package selfdriven

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/envtest"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program owns a loop: it asks at a rollout URL and returns the reward.
type program func(p *asking) (reward float64, err error)

// Limits implements workflow.Carrying.
func (program) Limits() workflow.Limits { return workflow.Limits{Tokens: 1000, Calls: 5} }

// Carry implements workflow.Carrying.
func (f program) Carry(ctx context.Context, w workflow.Work) ([]workflow.Part, error) {
	number, _ := w.Task.Row.Get("number")
	reward, err := f(&asking{ctx: ctx, url: w.URL, model: w.Model, number: number.(int)})
	if err != nil {
		return nil, err
	}
	return []workflow.Part{{Reward: reward, Metrics: map[string]float64{"asked": reward}}}, nil
}

// asking is what a program knows of its rollout.
type asking struct {
	ctx        context.Context
	url, model string
	number     int
	said       []map[string]any
	agent      string // X-Session-ID
	more       map[string]any
}

// ask says something to the model and returns its answer.
func (p *asking) ask(text string) (string, error) {
	p.said = append(p.said, map[string]any{"role": "user", "content": text})
	body := map[string]any{"model": p.model, "messages": p.said}
	for k, v := range p.more {
		body[k] = v
	}
	data, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, p.url+"/chat/completions", bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	req.Header.Set("X-Session-ID", p.agent)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(raw, &answer) != nil || len(answer.Choices) != 1 {
		return "", fmt.Errorf("%d: %s", resp.StatusCode, raw)
	}
	said := answer.Choices[0].Message.Content
	p.said = append(p.said, map[string]any{"role": "assistant", "content": said})
	return said, nil
}

// guess lets the model guess a number three times.
func guess(p *asking) (float64, error) {
	text := fmt.Sprintf("Task %d. Guess!", p.number)
	for range 3 {
		said, err := p.ask(text)
		if err != nil {
			return 0, err
		}
		if strings.Contains(said, fmt.Sprint(p.number)) {
			return 1, nil
		}
		text = "No."
	}
	return 0, nil
}

// numbers are tasks.
type numbers int

func (n numbers) Count() int                     { return int(n) }
func (n numbers) Row(i int) (dataset.Row, error) { return dataset.Row{{Key: "number", Value: i}}, nil }
func (n numbers) Place(i int) string             { return fmt.Sprint("task ", i) }
func (n numbers) Close() error                   { return nil }

// sourceOf plays a program on four tasks.
func sourceOf(t *testing.T, p program, notes *[]string) *Source {
	t.Helper()
	text, err := endpoint.LoadText("../../../examples/tiny/guess/model", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	offers := proxy.NewOffers(proxy.OfferOptions{Name: "m", Text: text, Now: time.Now})
	s := New(t.Context(), Options{ID: "verifiers:guess", Carrying: p, Tasks: dataset.Of(numbers(4)),
		Rollouts: offers, URL: offers.URL, Close: offers.Close, Model: "m", Params: tinker.DefaultSampling(),
		Random: []string{"0", "1", "2", "3", "4"},
		Note: func(text string) {
			if notes != nil {
				*notes = append(*notes, text)
			}
		}})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// The suite that every environment passes.
func TestSuite(t *testing.T) {
	s := sourceOf(t, guess, nil)
	spec, err := s.Spec()
	if err != nil {
		t.Fatal(err)
	}
	if spec.Unsteady || spec.Tasks != 4 {
		t.Errorf("spec %+v", spec)
	}
	envtest.Run(t, envtest.Suite{Make: func() (env.Env, error) { return spec.New(spec.Params) }, Seeds: 3,
		Solve: func(e env.Env) string { return fmt.Sprint(e.(*Env).index) }})
}

// What the player reads is the whole prompt in the model's template, with its own answers; the end has the reward and
// the metrics of the program.
func TestPrompts(t *testing.T) {
	spec, err := sourceOf(t, guess, nil).Spec()
	if err != nil {
		t.Fatal(err)
	}
	e, err := spec.New(env.Params{"task": 2})
	if err != nil {
		t.Fatal(err)
	}
	const first = "<|im_start|>user\nTask 2. Guess!<|im_end|>\n<|im_start|>assistant\n"
	o, err := e.Reset(7)
	if err != nil || o.Text != first {
		t.Fatalf("%q, %v", o.Text, err)
	}
	next, err := e.Step("It is 1")
	want := first + "It is 1<|im_end|>\n<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\n"
	if err != nil || next.Text != want || next.Done() || next.Reward != 0 {
		t.Fatalf("%+v, %v\nwant %q", next, err, want)
	}
	end, err := e.Step("2")
	if err != nil || !end.Terminated || end.Reward != 1 || end.Metrics["asked"] != 1 {
		t.Errorf("%+v, %v", end, err)
	}
	if _, err := e.Step("2"); !errors.Is(err, env.ErrOver) {
		t.Errorf("after the end: %v", err)
	}
}

// What goes wrong is an error that says what to do, and never a reward.
func TestFails(t *testing.T) {
	twice := func(p *asking) (float64, error) {
		if _, err := p.ask("a"); err != nil {
			return 0, err
		}
		_, err := p.ask("b")
		return 0, err
	}
	// first asks once, and again after something has changed.
	first := func(then func(p *asking)) program {
		return func(p *asking) (float64, error) {
			p.ask("a")
			then(p)
			return twice(p)
		}
	}
	for want, p := range map[string]program{
		"no disk": func(p *asking) (float64, error) {
			p.ask("a")
			return 0, errors.New("no disk")
		},
		"the episode has several agents": func(p *asking) (float64, error) {
			p.agent = "x"
			return first(func(p *asking) { p.agent = "y" })(p)
		},
		`the model \"gpt-7\" is not here`: first(func(p *asking) { p.model = "gpt-7" }),
		"logprobs are not known": first(func(p *asking) {
			p.more = map[string]any{"logprobs": true}
		}),
		"each call has one answer":                       first(func(p *asking) { p.more = map[string]any{"n": 2} }),
		"has made its 5 calls (workflow_args.max_calls)": never,
		"of its 1000 tokens (workflow_args.max_tokens)":  never,
		`rollout \"nine-`: first(func(p *asking) {
			p.url = strings.Replace(p.url, "/rollouts/", "/rollouts/nine-", 1)
		}),
	} {
		s := sourceOf(t, p, nil)
		e := &Env{source: s}
		said := "word"
		if strings.Contains(want, "max_tokens") {
			said = strings.Repeat("word ", 120)
		}
		_, err := e.Reset(0)
		for i := 0; err == nil && i < 10; i++ {
			var next env.Transition
			if next, err = e.Step(said); next.Done() {
				t.Fatalf("%s: the episode ended with a reward of %v", want, next.Reward)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "env: verifiers:guess: task 0: ") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, err := sourceOf(t, func(*asking) (float64, error) { return 1, nil }, nil).Spec()
	if err == nil || !strings.Contains(err.Error(), "the episode ended before the model was asked") {
		t.Errorf("a program that asks nothing: %v", err)
	}
}

// never asks until it is refused.
func never(p *asking) (float64, error) {
	for {
		if _, err := p.ask("Go on."); err != nil {
			return 0, err
		}
	}
}

// A program that begins otherwise each time is found out; a fork of its episode fails.
func TestUnsteady(t *testing.T) {
	n := 0
	var notes []string
	s := sourceOf(t, func(p *asking) (float64, error) {
		n++
		_, err := p.ask(fmt.Sprint("Play ", n))
		return 0, err
	}, &notes)
	spec, err := s.Spec()
	if err != nil || !spec.Unsteady || len(notes) != 1 || !strings.Contains(notes[0], "begin in different ways") {
		t.Fatalf("%+v, %v, %q", spec, err, notes)
	}
	e := &Env{source: s}
	if _, err := e.Reset(0); err != nil {
		t.Fatal(err)
	}
	f := e.Fork()
	if _, err := e.Step("yes"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Step("yes"); err == nil || !strings.Contains(err.Error(), "played again from task 0, action 0") {
		t.Errorf("the fork: %v", err)
	}
}

// Close ends an episode that waits for its player.
func TestClose(t *testing.T) {
	s := sourceOf(t, guess, nil)
	e := &Env{source: s}
	if _, err := e.Reset(0); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Step("1"); !errors.Is(err, errClosed) {
		t.Errorf("a step after Close: %v", err)
	}
	if _, err := e.Reset(0); !errors.Is(err, errClosed) {
		t.Errorf("an episode after Close: %v", err)
	}
}
