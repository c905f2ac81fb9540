// Package diagnosis describes a model for trinity doctor: its shape, its needs and its speed on this machine.
package diagnosis

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

// Diagnosis prints findings about a model.
type Diagnosis struct {
	Out     io.Writer
	Model   string // as the user names it
	Dir     string
	Rank    int    // of a LoRA
	Length  int    // tokens of a sample
	Samples int    // decoded together
	Threads int    // of the local engine; 0 is all
	Base    string // engine.Options.BaseDtype

	conf engine.Description
}

// Describe prints all but the speed, and returns how many bytes the model needs.
func (d *Diagnosis) Describe(ctx context.Context) (need int64, err error) {
	if d.conf, err = engine.Describe(d.Dir); err != nil {
		return 0, err
	}
	d.conf = d.conf.InBase(d.Base)
	d.line("model", "%s", d.Model)
	d.line("folder", "%s", d.Dir)
	d.shape()
	if err := d.tokenizer(); err != nil {
		return 0, err
	}
	d.sandbox(ctx)
	return d.memory(), nil
}

// Speed prints how fast the model is, if there is room for it.
func (d *Diagnosis) Speed(ctx context.Context, need int64) error {
	if free := budget.FreeMemory(); free > 0 && need > free {
		d.line("speed", "not measured: the model needs %s and %s is free", budget.Size(need), budget.Size(free))
		return nil
	}
	return d.measure(ctx)
}

func (d *Diagnosis) line(key, format string, args ...any) {
	fmt.Fprintf(d.Out, "%-10s %s\n", key, foreign.Plain(fmt.Sprintf(format, args...)))
}

// shape prints what config.json says.
func (d *Diagnosis) shape() {
	c := d.conf
	mlp := fmt.Sprintf("MLP of %d", c.MLP)
	if c.Experts > 0 {
		mlp = fmt.Sprintf("%d experts of %d, %d a token", c.Experts, c.ExpertMLP, c.ExpertsUsed)
	}
	d.line("family", "%s: %d layers of width %d, %d heads of %d (%d for keys and values), %s",
		c.Family, c.Layers, c.Width, c.Heads, c.HeadDim, c.KVHeads, mlp)
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
	in := ""
	if d.Base == engine.BaseInt8 || d.Base == engine.BaseInt4 {
		in = ", computed in " + d.Base
	}
	d.line("parameters", "%s in %s", budget.Count(c.Parameters), c.DType+in)
}

// tokenizer prints what the tokenizer's files say.
func (d *Diagnosis) tokenizer() error {
	tok, err := tokenizer.Load(d.Dir)
	if err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(d.Dir)
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
func (d *Diagnosis) sandbox(ctx context.Context) {
	box, err := sandbox.Open(ctx, sandbox.Options{Staged: true})
	if err != nil {
		d.line("sandbox", "%s", strings.TrimPrefix(err.Error(), "sandbox: "))
		return
	}
	d.line("sandbox", "%v, for code that models write (docs/reference/sandbox.md)", box)
}

// memory prints the memory needs of sampling and training, in bytes, and returns the larger.
func (d *Diagnosis) memory() int64 {
	c := d.conf
	m := c.Memory(machine.Memory(), d.Samples, d.Length, d.Rank)
	if free := budget.FreeMemory(); free > 0 {
		d.line("memory", "%s free here", budget.Size(free))
	}
	kept := ""
	if m.CacheFull {
		kept = ", the maximum: samples take turns"
	}
	d.line("sampling", "%s: weights %s, a step %s, and keys and values %s for %d samples of %d tokens%s",
		budget.Size(m.Sampling()), budget.Size(m.Weights),
		budget.Size(m.Program+m.Step), budget.Size(m.Cache), d.Samples, d.Length, kept)
	d.line("training", "%s: in addition LoRA of rank %d (%s parameters) with gradient and optimizer %s, "+
		"activations and their gradients %s",
		budget.Size(m.Training()), d.Rank, budget.Count(c.AdapterParameters(d.Rank)),
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

func (d *Diagnosis) threads() int {
	if d.Threads > 0 {
		return d.Threads
	}
	return runtime.GOMAXPROCS(0)
}
