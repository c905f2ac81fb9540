package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run"
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
	defer t.engine.Close()
	signal.Reset(os.Interrupt, syscall.SIGTERM) // Ctrl-C stops an answer; between answers it stops the program
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	t.interrupts = interrupts
	if s.terminal && term.IsTerminal(int(os.Stdin.Fd())) {
		t.prompt = "> "
		fmt.Fprintln(s.out, "Type a message, or /help. Ctrl-C stops an answer, Ctrl-D ends the conversation.")
	}
	return t.loop(s.ctx, lines(os.Stdin))
}

// lines reads lines until the end of r. Its goroutine may still block in a read when the program ends.
func lines(r io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		scan := bufio.NewScanner(r)
		scan.Buffer(nil, 16<<20)
		for scan.Scan() {
			out <- scan.Text()
		}
	}()
	return out
}

// subject is what the conversation is with.
type subject struct {
	base       string // the base model's name in the engine
	checkpoint string // a folder with trinity.json; "" for the base model itself
	adapter    string // a folder of Python's peft; likewise
}

// checkpointNote is the part of a checkpoint's trinity.json that chat reads.
type checkpointNote struct {
	BaseModel string `json:"base_model"`
	SeqID     int64  `json:"seq_id"`
	Step      int64  `json:"step"`
}

func (c *chatCmd) subject(path string) (subject, error) {
	if st, err := os.Stat(path); err != nil || !st.IsDir() { // a name, or a GGUF file
		return subject{base: c.Model}, nil
	}
	note, err := readNote(path)
	if err == nil {
		return subject{base: note.BaseModel, checkpoint: path}, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return subject{}, err
	}
	if _, err := os.Stat(filepath.Join(path, "tinker", "checkpoints")); err == nil {
		return newest(path)
	}
	data, err := disk.ReadFile(filepath.Join(path, "adapter_config.json"), disk.SmallFile)
	if err != nil {
		return subject{base: c.Model}, nil
	}
	var conf struct {
		Base string `json:"base_model_name_or_path"`
	}
	if err := json.Unmarshal(data, &conf); err != nil {
		return subject{}, fmt.Errorf("%s: %w", filepath.Join(path, "adapter_config.json"), err)
	}
	return subject{base: conf.Base, adapter: path}, nil
}

func readNote(dir string) (note checkpointNote, err error) {
	path := filepath.Join(dir, "trinity.json")
	data, err := disk.ReadFile(path, disk.SmallFile)
	if err != nil {
		return note, err
	}
	if err := json.Unmarshal(data, &note); err != nil {
		return note, fmt.Errorf("%s: %w", path, err)
	}
	return note, nil
}

// newest is the checkpoint with the most train steps in a job directory.
func newest(job string) (subject, error) {
	notes, err := disk.Glob(job, "tinker/checkpoints/*/*/*/trinity.json")
	if err != nil {
		return subject{}, err
	}
	var best checkpointNote
	var dir string
	for _, path := range notes {
		note, err := readNote(filepath.Dir(path))
		if err != nil {
			continue // the job may be deleting it
		}
		if dir == "" || note.Step > best.Step || note.Step == best.Step && note.SeqID > best.SeqID {
			best, dir = note, filepath.Dir(path)
		}
	}
	if dir == "" {
		return subject{}, fmt.Errorf("job %s has no checkpoint yet", job)
	}
	return subject{base: best.BaseModel, checkpoint: dir}, nil
}

// load opens the subject. Ctrl-C ends it.
func (c *chatCmd) load(s *surroundings, dir string) (*talk, error) {
	ctx, done := s.untilStop()
	defer done()
	loading := *s
	loading.ctx = ctx
	t, err := c.open(&loading, dir)
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), t.engine.Close())
	}
	return t, err
}

// open makes an engine that serves the subject, with its own files in dir.
func (c *chatCmd) open(s *surroundings, dir string) (*talk, error) {
	t, err := c.openAs(s, dir, s.find(c.Model))
	if err != nil {
		return nil, err
	}
	if t.template == nil {
		return nil, errors.Join(fmt.Errorf("the model %s has no chat template; give one with --chat-template", c.Model),
			t.engine.Close())
	}
	return t, nil
}

// openAs is open with the chat template of the job that a folder is, or is in. Without any template t has none.
func (c *chatCmd) openAs(s *surroundings, dir, job string) (*talk, error) {
	sub, err := c.subject(s.find(c.Model))
	if err != nil {
		return nil, err
	}
	notes, err := run.ReadJobNotes(job)
	if err != nil {
		return nil, err
	}
	t := c.talk(s, notes)
	folder, err := c.folder(s, sub, notes)
	if err != nil {
		return nil, err
	}
	if err := t.read(folder, job, c.Template); err != nil {
		return nil, err
	}
	var ends []int32
	if t.template != nil {
		if ends, err = t.template.StopIDs(t.tokenizer); err != nil {
			return nil, err
		}
	}
	models := map[string]engine.Model{sub.base: {Dir: folder, Tokens: t.tokenizer, EndTokens: ends}}
	eo := engine.Options{Dir: dir, Threads: c.Threads, Models: models}
	eo.Fit(physicalMemory())
	t.engine, err = engine.Open(eo)
	if err != nil {
		return nil, err
	}
	if err := t.sample(s.ctx, sub, dir); err != nil {
		return nil, errors.Join(err, t.engine.Close())
	}
	return t, nil
}

// talk is a conversation that is held as the job does it, except for what the flags say. notes is nil without a job.
func (c *chatCmd) talk(s *surroundings, notes *run.JobNotes) *talk {
	t := &talk{out: s.out, err: s.err, params: tinker.DefaultSampling(), most: c.MaxTokens, logprobs: c.Logprobs,
		thinking: c.Thinking, seed: uint64(time.Now().UnixNano())}
	if c.Seed != nil {
		t.seed = *c.Seed
	}
	if notes != nil {
		t.system = notes.System
		t.params.Temperature, t.params.TopP, t.params.TopK = notes.Temperature, notes.TopP, notes.TopK
		if t.thinking == nil {
			t.thinking = notes.Thinking
		}
	}
	if c.System != nil {
		t.system = *c.System
	}
	if c.Temperature != nil {
		t.params.Temperature = *c.Temperature
	}
	if notes != nil {
		fmt.Fprintf(s.err, "as the job does it: system message %q, temperature %g, top_p %g, top_k %d (--system and "+
			"--temperature change that)\n", t.system, t.params.Temperature, t.params.TopP, t.params.TopK)
	}
	return t
}

// folder is the folder of the subject's base model.
func (c *chatCmd) folder(s *surroundings, sub subject, notes *run.JobNotes) (string, error) {
	if c.Base != "" {
		return s.model(c.Base)
	}
	dir, err := s.model(notes.Find(sub.base))
	if sub.checkpoint == "" && sub.adapter == "" {
		if err == nil && !has(dir, "tokenizer.json") {
			err = notModel(dir)
		}
		return dir, err
	}
	if err != nil {
		err = fmt.Errorf("the base model %q of %s was not found; name its folder with --base-model-dir: %w", sub.base,
			c.Model, err)
	}
	return dir, err
}

// read loads tokenizer and chat template. The template is the given one, else that of the job, else the model's, if it
// has one.
func (t *talk) read(folder, job, template string) (err error) {
	if t.tokenizer, err = tokenizer.Load(folder); err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(folder)
	if err != nil {
		return err
	}
	text, date, err := run.JobTemplate(job)
	if err != nil {
		return err
	}
	if text == "" {
		text, date = conf.ChatTemplate, time.Now()
	}
	if template != "" {
		data, err := disk.ReadFile(template, disk.SmallFile)
		if err != nil {
			return err
		}
		text = string(data)
	}
	if text == "" {
		return nil
	}
	t.template, err = chat.New(text, conf, date)
	return err
}

// sample opens the subject's weights. The engine's folder gets a link to a checkpoint.
func (t *talk) sample(ctx context.Context, sub subject, dir string) error {
	path := ""
	switch {
	case sub.checkpoint != "":
		from, err := filepath.Abs(sub.checkpoint)
		if err != nil {
			return err
		}
		p := tinker.Path{ModelID: "chat", Kind: tinker.KindSampler, Name: "weights"}
		if err := os.MkdirAll(filepath.Join(dir, p.ModelID, string(p.Kind)), 0o755); err != nil {
			return err
		}
		if err := linkFolder(from, filepath.Join(dir, p.ModelID, string(p.Kind), p.Name)); err != nil {
			return err
		}
		path = p.String()
		fmt.Fprintf(t.err, "checkpoint %s of base model %s\n", sub.checkpoint, sub.base)
	case sub.adapter != "":
		var err error
		if path, err = t.engine.ImportPEFT(sub.base, sub.adapter, "chat", "adapter"); err != nil {
			return err
		}
		fmt.Fprintf(t.err, "adapter %s of base model %s\n", sub.adapter, sub.base)
	}
	req := tinker.SamplingClientRequest{BaseModel: sub.base}
	if path != "" {
		req = tinker.SamplingClientRequest{ModelPath: path}
	}
	models, err := t.engine.Capabilities(ctx)
	if err != nil {
		return err
	}
	t.context = models.Models[0].ContextLength
	t.client, err = t.engine.SamplingClient(ctx, req)
	return err
}
