// Package talk is a conversation with a model in a terminal.
package talk

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

// Talk is a conversation in the terminal.
type Talk struct {
	Out, Err   io.Writer // answers; everything else
	Prompt     string    // shown before a line is read; "" without a terminal
	Interrupts <-chan os.Signal

	*speaker.Speaker

	System   string
	Params   tinker.SamplingParams // but for seed and length
	Most     int                   // tokens of an answer
	Logprobs bool
	Thinking *bool
	Seed     uint64

	messages []chat.Message // without the system message
	turns    int            // begun, including those that /reset removed
}

const chatHelp = `/system TEXT      set the system message; without TEXT there is none
/temperature X    0 always takes the likeliest token
/logprobs         turn the display of each token's logprob on or off
/reset            forget the conversation but keep the system message
/help             show this text
/quit             end, as the end of the input does`

// Loop reads lines and answers them until they end.
func (t *Talk) Loop(ctx context.Context, lines <-chan string) error {
	for {
		fmt.Fprint(t.Out, t.Prompt)
		select {
		case line, more := <-lines:
			if !more || strings.TrimSpace(line) == "/quit" {
				return nil
			}
			if err := t.line(ctx, line); err != nil {
				return err
			}
		case <-t.Interrupts:
			fmt.Fprintln(t.Err)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// line executes one line. It prints errors that the user can correct; others end the conversation.
func (t *Talk) line(ctx context.Context, line string) error {
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
		fmt.Fprintln(t.Err, foreign.Plain(err.Error()))
		return nil
	}
	return err
}

func (t *Talk) command(line string) {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "/system":
		t.System = rest
		fmt.Fprintf(t.Err, "the system message is %q\n", rest)
	case "/temperature":
		x, err := strconv.ParseFloat(rest, 64)
		if err != nil || !(x >= 0 && x <= 1000) {
			fmt.Fprintf(t.Err, "temperature %q is not a number from 0 to 1000; it stays %g\n", rest,
				t.Params.Temperature)
			return
		}
		t.Params.Temperature = x
		fmt.Fprintf(t.Err, "temperature is %g\n", x)
	case "/logprobs":
		t.Logprobs = !t.Logprobs
		fmt.Fprintf(t.Err, "logprobs are shown: %v\n", t.Logprobs)
	case "/reset":
		t.messages = nil
		fmt.Fprintln(t.Err, "the conversation starts over")
	case "/help":
		fmt.Fprintln(t.Err, chatHelp)
	default:
		fmt.Fprintf(t.Err, "%s is not a command\n%s\n", name, chatHelp)
	}
}

// answer asks the model and shows its answer token by token. A turn that fails leaves the conversation unchanged.
func (t *Talk) answer(ctx context.Context, line string) error {
	messages := append(t.messages[:len(t.messages):len(t.messages)], chat.Message{Role: "user", Content: line})
	shown := messages
	if t.System != "" {
		shown = append([]chat.Message{{Role: "system", Content: t.System}}, messages...)
	}
	options := chat.Options{AddGenerationPrompt: true, EnableThinking: t.Thinking}
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
		case <-t.Interrupts:
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
		fmt.Fprintln(t.Err, "note:", foreign.Text(fmt.Sprint(fault)))
	}
	t.messages = append(messages, said)
	return nil
}

// stream draws an answer and shows its tokens as they are drawn. The result does not include the token that ended it.
func (t *Talk) stream(ctx context.Context, prompt []int32) (answer []int32, err error) {
	t.turns++
	seeds := rng.New(t.Seed).Stream("chat", t.turns)
	seed := seeds.Uint64()
	p := t.Params
	p.Seed, p.MaxTokens = &seed, min(t.Most, t.Context-len(prompt))
	show := &display{Talk: t, decoder: t.Tokenizer.NewDecoder(true)}
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
	*Talk
	decoder *tokenizer.Decoder
	cut     bool // the answer reached the maximum length
	n       int
	sum     float64
}

func (d *display) token(id int32, logprob float32) {
	d.n++
	d.sum += float64(logprob)
	text := d.decoder.Write(id)
	if d.Logprobs {
		fmt.Fprintf(d.Out, "%9.4f  %q\n", logprob, d.Tokenizer.Bytes(id))
		return
	}
	fmt.Fprint(d.Out, foreign.Plain(text))
}

func (d *display) end() {
	if d.Logprobs {
		fmt.Fprintf(d.Out, "%9.4f  in all, %d tokens\n", d.sum, d.n)
	} else {
		fmt.Fprintln(d.Out, foreign.Plain(d.decoder.Flush()))
	}
	if d.cut {
		fmt.Fprintf(d.Err, "(cut after %d tokens)\n", d.n)
	}
}
