package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/run/speaker"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// talk is a conversation in the terminal.
type talk struct {
	out, err   io.Writer // answers; everything else
	prompt     string    // shown before a line is read; "" without a terminal
	interrupts <-chan os.Signal

	*speaker.Speaker

	system   string
	params   tinker.SamplingParams // but for seed and length
	most     int                   // tokens of an answer
	logprobs bool
	thinking *bool
	seed     uint64

	messages []chat.Message // without the system message
	turns    int            // begun, including those that /reset removed
}

const chatHelp = `/system TEXT      set the system message; without TEXT there is none
/temperature X    0 always takes the likeliest token
/logprobs         turn the display of each token's logprob on or off
/reset            forget the conversation but keep the system message
/help             show this text
/quit             end, as the end of the input does`

// loop reads lines and answers them until they end.
func (t *talk) loop(ctx context.Context, lines <-chan string) error {
	for {
		fmt.Fprint(t.out, t.prompt)
		select {
		case line, more := <-lines:
			if !more || strings.TrimSpace(line) == "/quit" {
				return nil
			}
			if err := t.line(ctx, line); err != nil {
				return err
			}
		case <-t.interrupts:
			fmt.Fprintln(t.err)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// line executes one line. It prints errors that the user can correct; others end the conversation.
func (t *talk) line(ctx context.Context, line string) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	if strings.HasPrefix(line, "/") {
		t.command(line)
		return nil
	}
	err := t.answer(ctx, line)
	var fault *tinker.Error
	if errors.As(err, &fault) && fault.Category == tinker.User {
		fmt.Fprintln(t.err, foreign.Plain(err.Error()))
		return nil
	}
	return err
}

func (t *talk) command(line string) {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "/system":
		t.system = rest
		fmt.Fprintf(t.err, "the system message is %q\n", rest)
	case "/temperature":
		x, err := strconv.ParseFloat(rest, 64)
		if err != nil || !(x >= 0 && x <= 1000) {
			fmt.Fprintf(t.err, "temperature %q is not a number from 0 to 1000; it stays %g\n", rest,
				t.params.Temperature)
			return
		}
		t.params.Temperature = x
		fmt.Fprintf(t.err, "temperature is %g\n", x)
	case "/logprobs":
		t.logprobs = !t.logprobs
		fmt.Fprintf(t.err, "logprobs are shown: %v\n", t.logprobs)
	case "/reset":
		t.messages = nil
		fmt.Fprintln(t.err, "the conversation starts over")
	case "/help":
		fmt.Fprintln(t.err, chatHelp)
	default:
		fmt.Fprintf(t.err, "%s is not a command\n%s\n", name, chatHelp)
	}
}

// answer asks the model and shows its answer token by token. A turn that fails leaves the conversation unchanged.
func (t *talk) answer(ctx context.Context, line string) error {
	messages := append(t.messages[:len(t.messages):len(t.messages)], chat.Message{Role: "user", Content: line})
	shown := messages
	if t.system != "" {
		shown = append([]chat.Message{{Role: "system", Content: t.system}}, messages...)
	}
	options := chat.Options{AddGenerationPrompt: true, EnableThinking: t.thinking}
	prompt, err := t.Template.Encode(t.Tokenizer, shown, options)
	if err != nil {
		return &tinker.Error{Category: tinker.User, Err: err}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-t.interrupts:
			stop()
		case <-done:
		}
	}()
	tokens, err := t.stream(ctx, prompt)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	said, fault := chat.ParseAnswer(t.Tokenizer.Decode(tokens, false), t.Template.CallStyle())
	if fault != nil {
		fmt.Fprintln(t.err, "note:", foreign.Text(fmt.Sprint(fault)))
	}
	t.messages = append(messages, said)
	return nil
}

// stream draws an answer and shows its tokens as they are drawn. The result does not include the token that ended it.
func (t *talk) stream(ctx context.Context, prompt []int32) (answer []int32, err error) {
	t.turns++
	seeds := rng.New(t.seed).Stream("chat", t.turns)
	seed := seeds.Uint64()
	p := t.params
	p.Seed, p.MaxTokens = &seed, min(t.most, t.Context-len(prompt))
	show := &display{talk: t, decoder: t.Tokenizer.NewDecoder(true)}
	defer show.end()
	if p.MaxTokens < 1 {
		return nil, tinker.Userf("the conversation has %d tokens and the model's context is %d; /reset starts over",
			len(prompt), t.Context)
	}
	stream, err := tinker.OpenStream(ctx, t.Client, tinker.SampleRequest{Prompt: tinker.Text(prompt), Params: p})
	if err != nil {
		return nil, err
	}
	for {
		some, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return answer, nil
		}
		if err != nil {
			return answer, err
		}
		for _, d := range some {
			show.token(d.Token, d.Logprob)
			show.cut = d.Stop == tinker.StopLength
			if d.Stop != tinker.StopStop {
				answer = append(answer, d.Token)
			}
		}
	}
}

// display shows tokens as text, or one on a line with its logprob.
type display struct {
	*talk
	decoder *tokenizer.Decoder
	cut     bool // the answer reached the maximum length
	n       int
	sum     float64
}

func (d *display) token(id int32, logprob float32) {
	d.n++
	d.sum += float64(logprob)
	text := d.decoder.Write(id)
	if d.logprobs {
		fmt.Fprintf(d.out, "%9.4f  %q\n", logprob, d.Tokenizer.Bytes(id))
		return
	}
	fmt.Fprint(d.out, foreign.Plain(text))
}

func (d *display) end() {
	if d.logprobs {
		fmt.Fprintf(d.out, "%9.4f  in all, %d tokens\n", d.sum, d.n)
	} else {
		fmt.Fprintln(d.out, foreign.Plain(d.decoder.Flush()))
	}
	if d.cut {
		fmt.Fprintf(d.err, "(cut after %d tokens)\n", d.n)
	}
}
