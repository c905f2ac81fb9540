package main

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"time"

	"github.com/seed-d9ad8ee0/trinity/model"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/tokenizer"
)

type doctorCmd struct {
	Model   string `arg:"" help:"A Hugging Face folder, or a model's name on the hub."`
	Rank    int    `help:"LoRA rank to reckon with." default:"32"`
	Length  int    `help:"Tokens of one sample, prompt and answer together." default:"1024"`
	Samples int    `help:"Samples decoded together." default:"64"`
	Measure bool   `help:"Load the model and measure tokens per second (default true)." default:"true" negatable:""`
	Threads int    `help:"Threads of the local engine; 0 is all." default:"0"`
}

// Run implements the command: what a model is, what it takes, and how fast it is here.
func (c *doctorCmd) Run(s *surroundings) error {
	if c.Rank < 1 || c.Length < 2 || c.Samples < 1 {
		return usageError{fmt.Errorf("trinity: --rank, --length and --samples are at least 1, 2 and 1")}
	}
	dir, err := run.FindModel(s.ctx, c.Model, s.find, s.hub())
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	conf, err := model.LoadConfig(dir)
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
	need := d.memory()
	if !c.Measure {
		return nil
	}
	if free := freeMemory(); free > 0 && need > free {
		d.line("speed", "not measured: %s are needed and %s are free", size(need), size(free))
		return nil
	}
	return d.measure()
}

// diagnosis prints what is found out about a model.
type diagnosis struct {
	*surroundings
	cmd  *doctorCmd
	conf model.Config
	dir  string
}

func (d *diagnosis) line(key, format string, args ...any) {
	fmt.Fprintf(d.out, "%-10s %s\n", key, fmt.Sprintf(format, args...))
}

// shape prints what config.json says.
func (d *diagnosis) shape() {
	c := d.conf
	d.line("family", "%s: %d layers of width %d, %d heads of %d (%d for keys and values), MLP of %d", c.Arch.Name, c.Layers, c.Dim, c.Heads, c.HeadDim, c.KVHeads, c.FF)
	head := "a head of its own"
	if c.Tied {
		head = "the head is the embedding"
	}
	d.line("vocabulary", "%d tokens; %s", c.Vocab, head)
	scaling := ""
	switch {
	case c.RoPE.Llama3 != nil:
		scaling = fmt.Sprintf(", scaled by %g as Llama 3 does", c.RoPE.Llama3.Factor)
	case c.RoPE.Linear > 0:
		scaling = fmt.Sprintf(", scaled by %g", c.RoPE.Linear)
	}
	d.line("context", "%d tokens; RoPE theta %g%s", c.MaxPos, c.RoPE.Theta, scaling)
	dtype := "float32"
	if c.BF16 {
		dtype = "bfloat16"
	}
	d.line("parameters", "%s in %s", count(parameters(c)), dtype)
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

// memory prints what sampling and training take, in bytes, and returns the larger.
func (d *diagnosis) memory() int64 {
	c := d.conf
	pages := (d.cmd.Length + pageTokens - 1) / pageTokens
	cache := int64(d.cmd.Samples) * int64(pages) * int64(4*c.Pages().Floats())
	sampling := weightBytes(c) + cache
	rows := 2048 // of a micro-batch
	tape := int64(c.TapeBytes(rows, d.cmd.Rank, false))
	if tape > 1<<30 {
		tape = int64(c.TapeBytes(rows, d.cmd.Rank, true))
	}
	adapter := adapterParameters(c, d.cmd.Rank)
	training := sampling + tape + 20*adapter // weights, their packed form, gradient and two moments
	if free := freeMemory(); free > 0 {
		d.line("memory", "%s free here", size(free))
	}
	d.line("sampling", "%s: weights %s, and %s for %d samples of %d tokens", size(sampling), size(weightBytes(c)), size(cache), d.cmd.Samples, d.cmd.Length)
	d.line("training", "%s: that, and LoRA of rank %d (%s parameters) with gradient and optimizer %s, activations %s", size(training), d.cmd.Rank, count(adapter), size(20*adapter), size(tape))
	return max(sampling, training)
}

// pageTokens is how many tokens a page of the KV cache has.
const pageTokens = 32

// parameters is the number of a model's parameters.
func parameters(c model.Config) int64 {
	attn := c.Dim*(c.QDim()+2*c.KVDim()) + c.QDim()*c.Dim
	if c.Arch.QKVBias {
		attn += c.QDim() + 2*c.KVDim()
	}
	if c.Arch.QKNorm {
		attn += 2 * c.HeadDim
	}
	n := int64(c.Layers)*int64(attn+3*c.Dim*c.FF+2*c.Dim) + int64(c.Dim) + int64(c.Vocab)*int64(c.Dim)
	if !c.Tied {
		n += int64(c.Vocab) * int64(c.Dim)
	}
	return n
}

// weightBytes is the memory of the weights: the embedding is a table, and a head too even if it has the same values.
func weightBytes(c model.Config) int64 {
	n := parameters(c)
	if c.Tied {
		n += int64(c.Vocab) * int64(c.Dim)
	}
	if c.BF16 {
		return 2 * n
	}
	return 4 * n
}

// adapterParameters is the number of parameters of a LoRA on attention, MLP and head.
func adapterParameters(c model.Config, rank int) int64 {
	attn := 3*c.Dim + c.QDim() + 2*c.KVDim() + c.QDim() + c.Dim
	mlp := 2*(c.Dim+c.FF) + c.FF + c.Dim
	return int64(rank) * (int64(c.Layers)*int64(attn+mlp) + int64(c.Dim+c.Vocab))
}

// count writes a number of parameters for people.
func count(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f billion", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f million", float64(n)/1e6)
	}
	return fmt.Sprint(n)
}

// rate is units per second, of which few digits mean anything.
func rate(n int, t time.Duration) string {
	r := float64(n) / max(t.Seconds(), 1e-9)
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
