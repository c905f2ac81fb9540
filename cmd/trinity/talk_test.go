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
	t.Cleanup(func() { talk.Engine.Close() })
	return talk, &out
}

// A conversation needs a chat template.
func TestChatWithoutTemplate(t *testing.T) {
	model := filepath.Join(t.TempDir(), "model")
	if err := errors.Join(os.CopyFS(model, os.DirFS("../../examples/tiny/model")),
		os.WriteFile(filepath.Join(model, "tokenizer_config.json"), []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s := &surroundings{ctx: t.Context(), err: io.Discard, env: func(string) (string, bool) { return "", false }}
	if _, err := (&chatCmd{Model: model, Threads: 1}).open(s, t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "has no chat template") {
		t.Errorf("error %v, want one that says that there is no chat template", err)
	}
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
			talk.Engine.Close()
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

// TestStream: an answer shown as it is drawn equals the answer of one request.
func TestStream(t *testing.T) {
	talk, _ := openTalk(t, 0)
	const ribbons = "Kate keeps 12 ribbons at home. Will takes 5 of them. What is the number of ribbons now?"
	for _, question := range []string{ribbons, "Hi"} {
		prompt, err := talk.Template.Encode(talk.Tokenizer, []chat.Message{{Role: "user", Content: question}},
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
		f, err := talk.Client.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text(prompt), Params: p})
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
	ids := talk.Tokenizer.Encode("Zürich 🙂 文", false)
	if len(ids) < 10 {
		t.Fatalf("%d tokens; the characters are not cut", len(ids))
	}
	show := &display{talk: talk, decoder: talk.Tokenizer.NewDecoder(true)}
	for i, id := range ids {
		show.token(id, 0)
		if !utf8.Valid(out.Bytes()) || strings.ContainsRune(out.String(), utf8.RuneError) {
			t.Fatalf("after %d tokens: %q", i+1, out)
		}
	}
	for _, id := range talk.Tokenizer.Encode("🙂", false)[:2] {
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
