package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/talk"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/run/speaker"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

type chatCmd struct {
	Model       string   `arg:"" help:"A model's folder, GGUF file or name; a job, checkpoint or adapter."`
	Base        string   `name:"base-model-dir" short:"b" help:"The base model, if it moved." placeholder:"DIR"`
	Template    string   `name:"chat-template" help:"A file with a chat template to use." placeholder:"FILE"`
	System      *string  `help:"The first system message; without it, the job's. An empty one is none."`
	Temperature *float64 `help:"0 always takes the likeliest token; without it, the job's, or 1." placeholder:"X"`
	MaxTokens   int      `help:"The longest answer, in tokens." default:"1024"`
	Seed        *uint64  `help:"Makes the answers repeatable."`
	Thinking    *bool    `help:"Set enable_thinking, for templates that use it." negatable:""`
	Logprobs    bool     `help:"Show each token with its logprob."`
	Threads     int      `help:"Threads of the local engine; 0 is all." default:"0"`
}

// Run implements the command: a conversation over standard input and output. It writes only a temporary folder of
// links, so it does not disturb a running job.
func (c *chatCmd) Run(s *surroundings) error {
	if c.Temperature != nil && *c.Temperature < 0 || c.MaxTokens < 1 {
		return usageError{fmt.Errorf("trinity: --temperature must be at least 0 and --max-tokens at least 1")}
	}
	dir, err := os.MkdirTemp("", "trinity-chat-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, err := c.load(s, dir)
	if err != nil {
		return err
	}
	defer t.Engine.Close()
	signal.Reset(os.Interrupt, syscall.SIGTERM) // Ctrl-C stops an answer; between answers it stops the program
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	t.Interrupts = interrupts
	if s.terminal && term.IsTerminal(int(os.Stdin.Fd())) {
		t.Prompt = "> "
		fmt.Fprintln(s.out, "Type a message, or /help. Ctrl-C stops an answer, Ctrl-D ends the conversation.")
	}
	return t.Loop(s.ctx, talk.Lines(os.Stdin))
}

// load opens the subject. Ctrl-C ends it.
func (c *chatCmd) load(s *surroundings, dir string) (*talk.Talk, error) {
	ctx, done := s.untilStop()
	defer done()
	loading := *s
	loading.ctx = ctx
	t, err := c.open(&loading, dir)
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), t.Engine.Close())
	}
	return t, err
}

// open makes an engine that serves the subject, with its own files in dir. The conversation is held as the job does it,
// except for what the flags say.
func (c *chatCmd) open(s *surroundings, dir string) (*talk.Talk, error) {
	o := s.speaker(c.Threads)
	o.Model, o.Base, o.Template = c.Model, c.Base, c.Template
	sp, notes, err := s.speak(o, dir)
	if err != nil {
		return nil, err
	}
	t := c.talk(s, notes)
	t.Speaker = sp
	return t, nil
}

// speak opens a model that can hold a conversation, with its own files in dir. notes are its job's, nil without one.
func (s *surroundings) speak(o speaker.Options, dir string) (sp *speaker.Speaker, notes *run.JobNotes, err error) {
	if sp, notes, err = speaker.Open(s.ctx, o, dir, s.find(o.Model)); err != nil {
		return nil, nil, err
	}
	if sp.Template == nil {
		return nil, nil, errors.Join(fmt.Errorf("the model %s has no chat template; give one with --chat-template",
			o.Model), sp.Engine.Close())
	}
	return sp, notes, nil
}

// speaker are the options of an open model that come from this process.
func (s *surroundings) speaker(threads int) speaker.Options {
	return speaker.Options{Threads: threads, Memory: machine.Memory(), Find: s.find, Folder: s.model, Note: s.err}
}

// talk is a conversation without a model. notes is nil without a job.
func (c *chatCmd) talk(s *surroundings, notes *run.JobNotes) *talk.Talk {
	t := &talk.Talk{Out: s.out, Err: s.err, Params: tinker.DefaultSampling(), Most: c.MaxTokens,
		Logprobs: c.Logprobs, Thinking: c.Thinking, Seed: uint64(time.Now().UnixNano())}
	if c.Seed != nil {
		t.Seed = *c.Seed
	}
	if notes != nil {
		t.System = notes.System
		t.Params.Temperature, t.Params.TopP, t.Params.TopK = notes.Temperature, notes.TopP, notes.TopK
		t.Thinking = cmp.Or(t.Thinking, notes.Thinking)
	}
	if c.System != nil {
		t.System = *c.System
	}
	if c.Temperature != nil {
		t.Params.Temperature = *c.Temperature
	}
	if notes != nil {
		fmt.Fprintf(s.err, "as the job does it: system message %q, temperature %g, top_p %g, top_k %d (--system and "+
			"--temperature change that)\n", t.System, t.Params.Temperature, t.Params.TopP, t.Params.TopK)
	}
	return t
}
