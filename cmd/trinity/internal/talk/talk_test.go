package talk

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/run/speaker"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func openTalk(t *testing.T, temperature float64) (*Talk, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	const model = "../../../../examples/tiny/model"
	sp, _, err := speaker.Open(t.Context(), speaker.Options{Model: model, Threads: 1, Note: &out,
		Find:   func(path string) string { return path },
		Folder: func(name string) (string, error) { return name, nil }}, t.TempDir(), model)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sp.Engine.Close() })
	out.Reset()
	c := &Talk{Out: &out, Err: &out, Speaker: sp, Params: tinker.DefaultSampling(), Most: 100}
	c.Params.Temperature = temperature
	return c, &out
}

// TestStream: an answer shown as it is drawn equals the answer of one request.
func TestStream(t *testing.T) {
	c, _ := openTalk(t, 0)
	const ribbons = "Kate keeps 12 ribbons at home. Will takes 5 of them. What is the number of ribbons now?"
	for _, question := range []string{ribbons, "Hi"} {
		prompt, err := c.Template.Encode(c.Tokenizer, []chat.Message{{Role: "user", Content: question}},
			chat.Options{AddGenerationPrompt: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.stream(t.Context(), prompt)
		if err != nil {
			t.Fatal(err)
		}
		p := tinker.DefaultSampling()
		p.Temperature, p.MaxTokens = 0, 100
		f, err := c.Client.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text(prompt), Params: p})
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
	c, out := openTalk(t, 0)
	ids := c.Tokenizer.Encode("Zürich 🙂 文", false)
	if len(ids) < 10 {
		t.Fatalf("%d tokens; the characters are not cut", len(ids))
	}
	show := &display{Talk: c, decoder: c.Tokenizer.NewDecoder(true)}
	for i, id := range ids {
		show.token(id, 0)
		if !utf8.Valid(out.Bytes()) || strings.ContainsRune(out.String(), utf8.RuneError) {
			t.Fatalf("after %d tokens: %q", i+1, out)
		}
	}
	for _, id := range c.Tokenizer.Encode("🙂", false)[:2] {
		show.token(id, 0)
	}
	show.end()
	if got, want := out.String(), "Zürich 🙂 文\ufffd\n"; got != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

// TestInterrupt: Ctrl-C ends an answer and keeps what was said; between answers it ends the conversation.
func TestInterrupt(t *testing.T) {
	c, out := openTalk(t, 1)
	interrupts := make(chan os.Signal)
	c.Interrupts = interrupts
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := c.stream(ctx, []int32{1}); err == nil {
		t.Error("an answer continues after its context has ended")
	}
	lines, done := make(chan string), make(chan error)
	go func() { done <- c.Loop(t.Context(), lines) }()
	lines <- "Hi"
	lines <- "/temperature 0"
	interrupts <- os.Interrupt
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(c.messages) != 2 || !strings.Contains(out.String(), "temperature is 0") {
		t.Errorf("messages %v, output %q", c.messages, out)
	}
}
