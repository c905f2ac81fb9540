package main

import (
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

type doctorCmd struct {
	Model   string `arg:"" help:"A model: a folder, a GGUF file, or a name on the hub or in Ollama."`
	Rank    int    `help:"LoRA rank for the memory estimate." default:"32"`
	Length  int    `help:"Tokens per sample, prompt and answer together." default:"1024"`
	Samples int    `help:"Samples decoded together." default:"64"`
	Measure bool   `help:"Load the model and measure tokens per second (default true)." default:"true" negatable:""`
	Threads int    `help:"Threads of the local engine; 0 is all." default:"0"`
}

// Run implements the command: it describes a model, its memory needs and its speed on this machine.
func (c *doctorCmd) Run(s *surroundings) error {
	if c.Rank < 1 || c.Length < 2 || c.Samples < 1 {
		return usageError{fmt.Errorf("trinity: --rank must be at least 1, --length at least 2, --samples at least 1")}
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM) // there is nothing to save
	dir, err := s.model(c.Model)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	conf, err := engine.Describe(dir)
	if err != nil {
		return err
	}
	d := &diagnosis{surroundings: s, conf: conf, dir: dir, cmd: c}
	d.line("model", "%s", c.Model)
	d.line("folder", "%s", dir)
	d.shape()
	if err := d.tokenizer(); err != nil {
		return err
	}
	d.sandbox()
	need := d.memory()
	if !c.Measure {
		return nil
	}
	if free := budget.FreeMemory(); free > 0 && need > free {
		d.line("speed", "not measured: the model needs %s and %s is free", budget.Size(need), budget.Size(free))
		return nil
	}
	return d.measure()
}

// diagnosis prints its findings about a model.
type diagnosis struct {
	*surroundings
	cmd  *doctorCmd
	conf engine.Description
	dir  string
}

func (d *diagnosis) line(key, format string, args ...any) {
	fmt.Fprintf(d.out, "%-10s %s\n", key, foreign.Plain(fmt.Sprintf(format, args...)))
}

// shape prints what config.json says.
func (d *diagnosis) shape() {
	c := d.conf
	d.line("family", "%s: %d layers of width %d, %d heads of %d (%d for keys and values), MLP of %d",
		c.Family, c.Layers, c.Width, c.Heads, c.HeadDim, c.KVHeads, c.MLP)
	head := "separate head"
	if c.Tied {
		head = "the head is the embedding"
	}
	d.line("vocabulary", "%d tokens; %s", c.Vocab, head)
	scaling := ""
	if c.RoPEScaling != "" {
		scaling = ", " + c.RoPEScaling
	}
	d.line("context", "%d tokens; RoPE theta %g%s", c.Context, c.RoPETheta, scaling)
	d.line("parameters", "%s in %s", budget.Count(c.Parameters), c.DType)
}

// tokenizer prints what the tokenizer's files say.
func (d *diagnosis) tokenizer() error {
	tok, err := tokenizer.Load(d.dir)
	if err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(d.dir)
	if err != nil {
		return err
	}
	template := "a chat template"
	if conf.ChatTemplate == "" {
		template = "no chat template: set model.custom_chat_template or model.chat_template_path"
	}
	d.line("tokenizer", "%d tokens; %s", tok.VocabSize(), template)
	return nil
}

// sandbox prints how code that models write is kept apart from this machine.
func (d *diagnosis) sandbox() {
	box, err := sandbox.Open(d.ctx, sandbox.Options{Staged: true})
	if err != nil {
		d.line("sandbox", "%s", strings.TrimPrefix(err.Error(), "sandbox: "))
		return
	}
	d.line("sandbox", "%v, for code that models write (docs/reference/sandbox.md)", box)
}

// memory prints the memory needs of sampling and training, in bytes, and returns the larger.
func (d *diagnosis) memory() int64 {
	c := d.conf
	m := c.Memory(machine.Memory(), d.cmd.Samples, d.cmd.Length, d.cmd.Rank)
	if free := budget.FreeMemory(); free > 0 {
		d.line("memory", "%s free here", budget.Size(free))
	}
	kept := ""
	if m.CacheFull {
		kept = ", the maximum: samples take turns"
	}
	d.line("sampling", "%s: weights %s, a step %s, and keys and values %s for %d samples of %d tokens%s",
		budget.Size(m.Sampling()), budget.Size(m.Weights),
		budget.Size(m.Program+m.Step), budget.Size(m.Cache), d.cmd.Samples, d.cmd.Length, kept)
	d.line("training", "%s: in addition LoRA of rank %d (%s parameters) with gradient and optimizer %s, "+
		"activations and their gradients %s",
		budget.Size(m.Training()), d.cmd.Rank, budget.Count(c.AdapterParameters(d.cmd.Rank)),
		budget.Size(m.Optimizer), budget.Size(m.Pages+m.Tape+m.Backward))
	return max(m.Sampling(), m.Training())
}

// rate is a number of units per second, rounded to two significant digits from 100 on.
func rate(r float64) string {
	if r < 100 {
		return fmt.Sprintf("%.1f", r)
	}
	p := math.Pow(10, math.Floor(math.Log10(r))-1)
	return fmt.Sprintf("%.0f", math.Round(r/p)*p)
}

func (c *doctorCmd) threads() int {
	if c.Threads > 0 {
		return c.Threads
	}
	return runtime.GOMAXPROCS(0)
}
