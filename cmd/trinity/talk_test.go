package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func openTalk(t *testing.T, temperature float64) (*talk, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	s := &surroundings{ctx: t.Context(), out: &out, err: &out, env: func(string) (string, bool) { return "", false }}
	c := chatCmd{Model: "../../examples/tiny/model", Temperature: &temperature, MaxTokens: 100, Seed: new(uint64),
		Threads: 1}
	talk, err := c.open(s, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { talk.engine.Close() })
	return talk, &out
}

// TestStopWhileLoading: Ctrl-C before the conversation ends the command; there is no step to finish.
func TestStopWhileLoading(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	s := &surroundings{ctx: t.Context(), stop: stop, out: io.Discard, err: io.Discard, brief: new(atomic.Bool),
		env: func(string) (string, bool) { return "", false }}
	for range 20 { // the stop may be heard when the model is open already
		c := chatCmd{Model: "../../examples/tiny/model", MaxTokens: 100, Threads: 1}
		talk, err := c.load(s, t.TempDir())
		if err == nil {
			talk.engine.Close()
			continue
		}
		if !strings.Contains(err.Error(), "stopped by Ctrl-C") {
			t.Error(err)
		}
		if !s.brief.Load() {
			t.Error("Ctrl-C promises to finish a step")
		}
		return
	}
	t.Error("Ctrl-C is not heard")
}

// TestAskWithTemplate: a run's model is asked with the run's chat template, and without any as long as no message is to
// be rendered.
func TestAskWithTemplate(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "model")
	if err := os.CopyFS(model, os.DirFS("../../examples/tiny/model")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"job/run.json": "{}", "model/tokenizer_config.json": "{}",
		"job/chat_template.jinja": "{% for m in messages %}<{{ m.content }}>{% endfor %}"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &surroundings{ctx: t.Context(), err: io.Discard, env: func(string) (string, bool) { return "", false }}
	a := &asker{s: s, threads: 1}
	defer a.Close()
	q := studio.Question{Messages: []rollout.Message{{Role: "user", Content: "Hi"}}}
	for job, want := range map[string]string{filepath.Join(dir, "job"): "<Hi>", dir: ""} {
		talk, err := a.open(studio.Weights{Job: job, Model: model})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := promptOf(talk, q)
		if got := talk.tokenizer.Decode(ids, false); got != want || (err == nil) != (want != "") {
			t.Errorf("the prompt is %q, %v, want %q", got, err, want)
		}
		if _, err := promptOf(talk, studio.Question{Tokens: []int32{1}}); err != nil {
			t.Error(err)
		}
	}
	if _, err := (&chatCmd{Model: model, Threads: 1}).open(s, t.TempDir()); err == nil {
		t.Error("a conversation without a chat template begins")
	}
}

// TestStream: an answer shown as it is drawn equals the answer of one request.
func TestStream(t *testing.T) {
	talk, _ := openTalk(t, 0)
	const ribbons = "Kate keeps 12 ribbons at home. Will takes 5 of them. What is the number of ribbons now?"
	for _, question := range []string{ribbons, "Hi"} {
		prompt, err := talk.template.Encode(talk.tokenizer, []chat.Message{{Role: "user", Content: question}},
			chat.Options{AddGenerationPrompt: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := talk.stream(t.Context(), prompt)
		if err != nil {
			t.Fatal(err)
		}
		p := tinker.DefaultSampling()
		p.Temperature, p.MaxTokens = 0, 100
		f, err := talk.client.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text(prompt), Params: p})
		if err != nil {
			t.Fatal(err)
		}
		res, err := f.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := res.Sequences[0].Tokens
		if res.Sequences[0].StopReason == tinker.StopStop {
			want = want[:len(want)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: streamed %v, at once %v", question, got, want)
		}
	}
}

// TestShowsWholeCharacters: a character whose bytes come in several pieces is shown once it is whole, and what never
// becomes whole is shown at the end.
func TestShowsWholeCharacters(t *testing.T) {
	talk, out := openTalk(t, 0)
	ids := talk.tokenizer.Encode("Zürich 🙂 文", false)
	if len(ids) < 10 {
		t.Fatalf("%d tokens; the characters are not cut", len(ids))
	}
	show := &display{talk: talk, decoder: talk.tokenizer.NewDecoder(true)}
	for i, id := range ids {
		show.token(id, 0)
		if !utf8.Valid(out.Bytes()) || strings.ContainsRune(out.String(), utf8.RuneError) {
			t.Fatalf("after %d tokens: %q", i+1, out)
		}
	}
	for _, id := range talk.tokenizer.Encode("🙂", false)[:2] {
		show.token(id, 0)
	}
	show.end()
	if got, want := out.String(), "Zürich 🙂 文\ufffd\n"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

// TestInterrupt: Ctrl-C ends an answer and keeps what was said; between answers it ends the conversation.
func TestInterrupt(t *testing.T) {
	talk, out := openTalk(t, 1)
	interrupts := make(chan os.Signal)
	talk.interrupts = interrupts
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := talk.stream(ctx, []int32{1}); err == nil {
		t.Error("an answer continues after its context has ended")
	}
	lines, done := make(chan string), make(chan error)
	go func() { done <- talk.loop(t.Context(), lines) }()
	lines <- "Hi"
	lines <- "/temperature 0"
	interrupts <- os.Interrupt
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(talk.messages) != 2 || !strings.Contains(out.String(), "temperature is 0") {
		t.Errorf("messages %v, output %q", talk.messages, out)
	}
}
