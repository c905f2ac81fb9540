package ownmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

// Request is what the command line asks for.
type Request struct {
	Model, Data, Reward string
	Prompt, Answer      string // columns; "" finds them
	Template            string // a file with a chat template; "" is the model's
	SFT                 bool
	Minutes             float64
	Rank                int
}

// Trainer carries a request out.
type Trainer struct {
	Out    io.Writer
	Run    run.Options
	Folder func(name string) (string, error)         // of a model
	Free   func() int64                              // memory, in bytes; 0 is not known
	Space  func(dir string) (int64, error)           // of a disk
	Now    func() time.Time                          // the clock
	Load   func(file string) (*config.Config, error) // reads a configuration
}

// Train makes a model in the folder out, or continues what was begun there.
func (t *Trainer) Train(ctx context.Context, r Request, out string) error {
	p, err := t.begin(r, out)
	if err != nil {
		return err
	}
	file := filepath.Join(p.out, ConfigFile)
	if _, err := os.Stat(file); err != nil {
		if err := t.prepare(ctx, p); err != nil {
			return t.stopped(err)
		}
	} else {
		fmt.Fprintf(t.Out, "continuing %s\n", p.shown(file))
	}
	cfg, err := t.Load(file)
	if err != nil {
		return err
	}
	p.grpo = 0
	if slices.ContainsFunc(cfg.Stages, func(s config.Stage) bool { return s.StageName == "grpo" }) {
		p.grpo = 1 // report names its folder
	}
	if _, err := run.Run(ctx, cfg, t.Run); err != nil {
		return t.stopped(err)
	}
	return p.report(t.Out)
}

// stopped turns Ctrl-C into success: the same command continues.
func (t *Trainer) stopped(err error) error {
	if errors.Is(err, run.ErrInterrupted) {
		fmt.Fprintln(t.Out, "the same command continues")
		return nil
	}
	return err
}

// prepare looks at the data, evaluates the model, chooses, and writes the configuration.
func (t *Trainer) prepare(ctx context.Context, p *plan) error {
	begin := t.Now()
	d, err := t.data(p)
	if err != nil {
		return err
	}
	if err := t.fits(p, d); err != nil {
		return err
	}
	if err := p.claim(d); err != nil {
		return err
	}
	draft := filepath.Join(p.out, "draft.yaml")
	defer os.Remove(draft)
	before, took, err := t.before(ctx, p, draft, len(d.Held))
	if err != nil {
		return err
	}
	p.say("before training the model scores %v", before)
	p.stages(d, before.mean)
	cfg, err := t.draft(p, draft)
	if err != nil {
		return err
	}
	sft, grpo, err := t.times(ctx, cfg)
	if err != nil {
		return err
	}
	whole, spent := time.Duration(p.Minutes*spared*float64(time.Minute)), t.Now().Sub(begin)
	p.steps(len(d.Train), whole-spent-took, sft, grpo)
	p.say("in all about %s of the %g minutes: %s are spent, an evaluation takes %s",
		short(spent+took+time.Duration(p.sft)*sft+time.Duration(p.grpo)*grpo), p.Minutes, short(spent), short(took))
	text := p.yaml()
	fmt.Fprintf(t.Out, "\n%s\n", text)
	return disk.WriteFile(disk.OS(), filepath.Join(p.out, ConfigFile), []byte(text))
}

// before evaluates the model as it is on the rows held out. took is how long that takes.
func (t *Trainer) before(ctx context.Context, p *plan, draft string, rows int) (s score, took time.Duration,
	err error) {
	began := t.Now()
	cfg, err := t.draft(p, draft)
	if err == nil {
		_, err = run.Run(ctx, cfg, t.Run)
	}
	if errors.Is(err, run.ErrInterrupted) {
		return s, 0, err
	}
	if err == nil {
		s, err = readScore(p.job("before"))
	}
	if err == nil && s.n < rows {
		err = fmt.Errorf("train: %d of %d rows could not be evaluated; see above why", rows-s.n, rows)
	}
	if err != nil {
		return s, 0, errors.Join(fmt.Errorf("%w; mend that and repeat the command", err), p.release())
	}
	return s, t.Now().Sub(began), nil
}

// draft writes the configuration as it is chosen so far, and reads it.
func (t *Trainer) draft(p *plan, file string) (*config.Config, error) {
	if err := os.WriteFile(file, []byte(p.yaml()), 0o644); err != nil {
		return nil, err
	}
	return t.Load(file)
}

// data looks at the data and says what it found.
func (t *Trainer) data(p *plan) (*Data, error) {
	name, answers, err := rewardName(p.Reward, absolute)
	if err != nil {
		return nil, err
	}
	p.reward = name
	d, err := look(p.Data, p.Prompt, p.Answer, answers || p.SFT)
	if err != nil {
		return nil, err
	}
	p.say("prompts are column %s of %s", d.PromptColumn, p.Data)
	if d.AnswerFrom != "" {
		p.say("answers are column %s, %d different ones", d.AnswerFrom, d.Distinct)
	}
	p.say("of %d rows %d are trained on and %d held out; %d repeat another, %d lack a prompt or an answer", d.Rows,
		len(d.Train), len(d.Held), d.Twice, d.Empty)
	if d.Clashing > 0 {
		p.say("%d rows answer the prompt of another row differently: the model cannot learn both", d.Clashing)
	}
	return d, p.gradable(d)
}

// gradable checks that the reward accepts the answers of the data themselves.
func (p *plan) gradable(d *Data) error {
	grade, ok := reward.Funcs()[p.reward]
	if !ok || d.AnswerFrom == "" {
		return nil
	}
	wrong, first := 0, ""
	for _, e := range append(d.Train[:len(d.Train):len(d.Train)], d.Held...) {
		scores, err := grade(reward.Sample{Prompt: e.Prompt, Response: e.Answer, Truth: e.Answer})
		if right, _ := scores.Get("accuracy"); err != nil || right != 1 {
			if wrong++; first == "" {
				first = e.Answer
			}
		}
	}
	if n := len(d.Train) + len(d.Held); wrong == n {
		return fmt.Errorf("train: --reward %s rejects every answer of the data, such as %.80q; choose another reward, "+
			"or name the column of the answers with --answer-column", p.Reward, first)
	}
	if wrong > 0 {
		p.say("the reward rejects %d of the answers themselves, such as %.40q", wrong, first)
	}
	return nil
}

// fits finds the model and checks its context, its memory and the disk.
func (t *Trainer) fits(p *plan, d *Data) error {
	dir, err := t.Folder(p.Model)
	if err != nil {
		return err
	}
	about, err := engine.Describe(dir)
	if err != nil {
		return err
	}
	tok, err := tokenizer.Load(dir)
	if err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(dir)
	if err != nil {
		return err
	}
	if conf.ChatTemplate == "" && p.Template == "" {
		return fmt.Errorf("train: %s has no chat template, so it cannot be asked; choose an instruct model or give "+
			"--chat-template FILE", p.Model)
	}
	if err := p.lengths(d, tok, about.Context); err != nil {
		return err
	}
	need := about.Memory(t.Run.Memory, tasks*group, p.prompt+p.answer, p.Rank).Training()
	if free := t.Free(); free > 0 && need > free {
		return fmt.Errorf("train: %s needs %s of memory and %s are free; close other programs, or choose a smaller "+
			"model, shorter rows or a smaller --rank (%d)", p.Model, budget.Size(need), budget.Size(free), p.Rank)
	}
	const room = 256 << 20                               // records and logs
	files := room + 4*12*about.AdapterParameters(p.Rank) // four states of weights and optimizer
	if free, err := t.Space(filepath.Dir(p.out)); err == nil && free < files {
		return fmt.Errorf("train: the disk of %s has %s free and training needs about %s; make room or choose another "+
			"folder with --out", p.out, budget.Size(free), budget.Size(files))
	}
	return nil
}

// times measures how long a step of each stage takes.
func (t *Trainer) times(ctx context.Context, cfg *config.Config) (sft, grpo time.Duration, err error) {
	in, err := run.Inspect(ctx, cfg, t.Run)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	for _, part := range in.Parts() {
		if part.Stage != "sft" && part.Stage != "grpo" {
			continue
		}
		b, err := part.Estimate(ctx)
		if err != nil {
			return 0, 0, err
		}
		fmt.Fprintf(t.Out, "%s\n%v", part.Stage, b)
		if part.Stage == "sft" {
			sft = b.StepTime()
		} else {
			grpo = b.StepTime()
		}
	}
	return sft, grpo, nil
}

// command is the command line of a request.
func (r Request) command() string {
	words := []string{"trinity train", "--model", r.Model, "--data", r.Data, "--reward", r.Reward}
	for _, f := range [][2]string{{"--prompt-column", r.Prompt}, {"--answer-column", r.Answer},
		{"--chat-template", r.Template}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	if r.SFT {
		words = append(words, "--sft")
	}
	return strings.Join(append(words, fmt.Sprintf("--minutes %g --rank %d", r.Minutes, r.Rank)), " ")
}
