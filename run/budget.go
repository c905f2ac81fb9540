package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/chat"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/dataset"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/model"
	"github.com/seed-d9ad8ee0/trinity/tokenizer"
)

// Budget is what a configuration takes, reckoned before anything runs. Answers are reckoned as long as they may be, so tokens and times
// are the most that it comes to.
type Budget struct {
	Model      model.Config // of the local engine; zero on a server
	Memory     Memory       // the same
	Rows       int          // of the data
	Prompt     int          // mean tokens of a prompt
	Longest    int          // tokens of the longest prompt looked at
	Looked     int          // how many were
	Steps      int
	Samples    int   // of a step; 0 in mode train
	MaxSampled int64 // tokens sampled in a step
	MaxTrained int64 // tokens trained on in a step
	Rates      Rates // zero on a server
}

// StepTime is the most that a step takes at the measured rates, 0 where they are not known.
func (b *Budget) StepTime() time.Duration {
	if b.Rates.Trained == 0 {
		return 0
	}
	seconds := float64(b.MaxTrained) / b.Rates.Trained
	if b.MaxSampled > 0 {
		seconds += float64(b.MaxSampled) / b.Rates.Sampled
	}
	return time.Duration(seconds * float64(time.Second))
}

// Estimate reckons the budget of a configuration without starting its job: it reads the model's configuration and tokenizer and the
// data, and on the local engine loads the model and measures it for a moment. It asks no server anything.
func Estimate(ctx context.Context, cfg *config.Config, o Options) (*Budget, error) {
	o = o.withDefaults()
	backend, err := config.ChooseBackend(cfg, o.LookupEnv)
	if err != nil {
		return nil, err
	}
	j := &job{Options: o, cfg: cfg, backend: backend, dir: cfg.JobDir(), reckons: true}
	if err := j.buildAlgorithm(ctx); err != nil {
		return nil, err
	}
	if err := j.buildModel(ctx); err != nil {
		return nil, err
	}
	b := &Budget{}
	if err := b.readData(ctx, j); err != nil {
		return nil, err
	}
	b.tokens(j)
	if backend.Kind != config.Local {
		return b, nil
	}
	return b, b.readModel(ctx, j)
}

// readData counts the rows and steps and looks at some prompts.
func (b *Budget) readData(ctx context.Context, j *job) error {
	if j.cfg.Mode == config.Train {
		eb := j.cfg.Buffer.TrainerInput.ExperienceBuffer
		if eb == nil || eb.StorageType != "file" && j.method.Schema == "experience" {
			return errors.New("run: experiences that another process writes cannot be counted before they are there")
		}
		rows, err := j.openExampleRows(ctx, eb, j.method.Schema)
		if err != nil {
			return err
		}
		return b.readRows(j, rows, exampleFormat(eb))
	}
	for i, t := range j.cfg.Buffer.ExplorerInput.Training() {
		for _, t := range j.unprepared(i, t) {
			rows, _, err := j.openTaskRows(ctx, &t)
			if err != nil {
				return err
			}
			if err := b.readRows(j, rows, t.Format); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAt is how many rows of a data set are rendered to learn how long prompts are.
const lookAt = 64

// readRows counts rows and closes them.
func (b *Budget) readRows(j *job, rows *dataset.Source, f config.Format) error {
	defer rows.Close()
	b.Rows += rows.Len()
	conf, err := tokenizer.LoadConfig(j.model.dir)
	if err != nil {
		return err
	}
	text, err := j.templateText(conf)
	if err != nil {
		return err
	}
	template, err := chat.New(text, conf, j.Now())
	if err != nil {
		return err
	}
	total := b.Prompt * b.Looked
	for i := range min(lookAt, rows.Len()) {
		n, err := promptTokens(rows, i*rows.Len()/min(lookAt, rows.Len()), f, template, j.model.tokenizer)
		if err != nil {
			return err
		}
		total, b.Looked, b.Longest = total+n, b.Looked+1, max(b.Longest, n)
	}
	if b.Looked > 0 {
		b.Prompt = total / b.Looked
	}
	return nil
}

// promptTokens is how long a row is as a prompt; a conversation counts whole.
func promptTokens(rows *dataset.Source, i int, f config.Format, t *chat.Template, tok *tokenizer.Tokenizer) (int, error) {
	row, err := rows.Row(i)
	if err != nil {
		return 0, err
	}
	text := ""
	for _, key := range []string{f.PromptKey, f.MessagesKey} {
		if v, ok := row.Get(key); ok && text == "" {
			text = fmt.Sprint(v)
		}
	}
	messages := []chat.Message{{Role: "user", Content: text}}
	if f.SystemPrompt != "" {
		messages = append([]chat.Message{{Role: "system", Content: f.SystemPrompt}}, messages...)
	}
	rendered, err := t.Render(messages, chat.Options{AddGenerationPrompt: true})
	if err != nil {
		return 0, err
	}
	return len(tok.Encode(rendered, false)), nil
}

// tokens reckons steps and the most tokens of one.
func (b *Budget) tokens(j *job) {
	cfg := j.cfg
	steps := b.Rows * cfg.Buffer.TotalEpochs / max(1, cfg.Buffer.BatchSize)
	if n := cfg.Buffer.TotalSteps; n != nil {
		steps = *n
	}
	if cfg.Mode == config.Train {
		b.Steps = j.totalSteps(0)
		if b.Steps == 0 {
			b.Steps = b.Rows * cfg.Buffer.TotalEpochs / max(1, cfg.Buffer.TrainBatchSize)
		}
		b.MaxTrained = int64(cfg.Buffer.TrainBatchSize) * int64(b.Longest)
		return
	}
	b.Steps = j.totalSteps(steps)
	b.Samples = cfg.Buffer.BatchSize * cfg.Algorithm.RepeatTimes
	b.MaxSampled, b.MaxTrained = mostTokens(cfg, b.Prompt)
}

// mostTokens is how many tokens a step samples and trains on if every answer is as long as it may be.
func mostTokens(cfg *config.Config, prompt int) (sampled, trained int64) {
	answer := 0
	if n := cfg.Model.MaxResponseTokens; n != nil {
		answer = *n
	}
	sampled = int64(cfg.Buffer.BatchSize) * int64(cfg.Algorithm.RepeatTimes) * int64(answer)
	if cfg.Mode.Trains() {
		trained = int64(cfg.Buffer.TrainBatchSize) * int64(prompt+answer)
	}
	return sampled, trained
}

// readModel reckons the memory and measures the rates on an engine of its own.
func (b *Budget) readModel(ctx context.Context, j *job) error {
	conf, err := model.LoadConfig(j.model.dir)
	if err != nil {
		return err
	}
	rank := j.cfg.LoRA().Rank
	length := b.Longest
	if n := j.cfg.Model.MaxResponseTokens; n != nil && b.Samples > 0 {
		length += *n
	}
	b.Model, b.Memory = conf, MemoryOf(conf, b.Samples, length, rank)
	if free := FreeMemory(); j.cfg.Model.RandomInit || free > 0 && b.Memory.Training() > free {
		return nil // nothing to load, or it would not fit
	}
	tmp, err := os.MkdirTemp("", "trinity-estimate-")
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer os.RemoveAll(tmp)
	e, err := engine.Open(engine.Options{Dir: filepath.Join(tmp, "engine"), Threads: j.Threads, Models: map[string]engine.Model{j.model.name: {Dir: j.model.dir}}})
	if err != nil {
		return err
	}
	defer e.Close()
	b.Rates, err = probe(ctx, e, j.model.name, conf.Vocab, b.Samples, rank)
	return err
}

// forecast measures the engine before a run that may be long and says how long it takes at most, so that nobody starts a month on a CPU
// unknowingly. It is empty for a short run, whose steps tell soon enough, and on a server.
func (b *job) forecast(ctx context.Context) (string, error) {
	if b.engine == nil || b.cfg.Model.RandomInit || !b.cfg.Mode.Explores() || !b.cfg.Mode.Trains() {
		return "", nil
	}
	conf, err := model.LoadConfig(b.model.dir)
	if err != nil {
		return "", err
	}
	prompt := 0
	if n := b.cfg.Model.MaxPromptTokens; n != nil {
		prompt = *n
	}
	left := Budget{Steps: b.steps - b.trainer.Step(), Samples: b.cfg.Buffer.BatchSize * b.cfg.Algorithm.RepeatTimes}
	left.MaxSampled, left.MaxTrained = mostTokens(b.cfg, prompt)
	products := float64(left.Steps) * float64(conf.Parameters()) * float64(2*left.MaxSampled+4*left.MaxTrained)
	if products < longRun {
		return "", nil
	}
	if left.Rates, err = probe(ctx, b.engine, b.model.name, conf.Vocab, left.Samples, b.cfg.LoRA().Rank); err != nil {
		return "", fmt.Errorf("run: measuring the engine: %w", err)
	}
	return left.duration(), nil
}

// longRun is the floating-point operations of some minutes on a small machine.
const longRun = 2e13

// String is the budget in a few lines.
func (b *Budget) String() string {
	var t strings.Builder
	line := func(key, format string, args ...any) {
		fmt.Fprintf(&t, "%-8s %s\n", key, fmt.Sprintf(format, args...))
	}
	if b.Memory.Weights > 0 {
		m := b.Memory
		line("model", "%s parameters", Count(b.Model.Parameters()))
		line("memory", "%s sampling, %s training; %s free here", Size(m.Sampling()), Size(m.Training()), Size(FreeMemory()))
	}
	line("data", "%d rows; %d tokens a prompt, the longest of %d looked at %d", b.Rows, b.Prompt, b.Looked, b.Longest)
	if b.Samples > 0 {
		line("plan", "%d steps of %d samples: at most %s tokens sampled and %s trained on in a step, %s in all", b.Steps, b.Samples,
			Count(b.MaxSampled), Count(b.MaxTrained), Count(int64(b.Steps)*(b.MaxSampled+b.MaxTrained)))
	} else {
		line("plan", "%d steps: at most %s tokens trained on in a step", b.Steps, Count(b.MaxTrained))
	}
	if b.StepTime() > 0 {
		line("time", "%s", b.duration())
	}
	return t.String()
}

// duration says how long it takes at most.
func (b *Budget) duration() string {
	return fmt.Sprintf("at most about %s a step and %s in all (%.0f tokens/s sampled, %.0f trained); short answers take less",
		roundTime(b.StepTime()), roundTime(time.Duration(b.Steps)*b.StepTime()), b.Rates.Sampled, b.Rates.Trained)
}

// roundTime keeps about two digits of a duration.
func roundTime(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= time.Hour:
		return d.Round(time.Minute).String()
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
