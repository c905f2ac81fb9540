package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Budget is what a configuration takes, reckoned before anything runs. Means are those of the model as it is now,
// measured on some tasks; they are 0 where nothing was measured, as on a server. What begins with Max holds whatever the
// model answers.
type Budget struct {
	Model      engine.Description    // of the local engine; zero on a server
	Memory     engine.MemoryEstimate // the same, with sequences as long as they may be
	Rows       int                   // of the data
	Prompt     int                   // mean tokens of a task's first prompt, system prompt included; in mode train of a sequence
	Longest    int                   // of those looked at
	Looked     int                   // how many were
	Length     int                   // tokens of a sequence at most
	Steps      int
	Samples    int   // of a step; 0 in mode train
	Tried      int   // samples that the means of answers are of
	Sampled    int64 // tokens sampled in a step, mean
	MaxSampled int64 // 0: not known
	Trained    int64 // tokens trained on in a step, mean
	MaxTrained int64
	Rates      Rates // zero on a server
}

// StepTime is what a step takes at the measured rates, 0 where they or the means are not known.
func (b *Budget) StepTime() time.Duration {
	if b.Sampled == 0 && b.Samples > 0 {
		return 0
	}
	return b.Rates.time(b.Sampled, b.Trained)
}

// MaxStepTime is the most that a step takes at the measured rates, 0 where they are not known.
func (b *Budget) MaxStepTime() time.Duration {
	if b.MaxSampled == 0 && b.Samples > 0 {
		return 0
	}
	return b.Rates.time(b.MaxSampled, b.MaxTrained)
}

// time is how long so many tokens take.
func (r Rates) time(sampled, trained int64) time.Duration {
	if r.Trained == 0 {
		return 0
	}
	seconds := float64(trained) / r.Trained
	if sampled > 0 {
		seconds += float64(sampled) / r.Sampled
	}
	return time.Duration(seconds * float64(time.Second))
}

// Estimate reckons the budget of a configuration without stages, and without starting its job: see [Inspection.Estimate].
func Estimate(ctx context.Context, cfg *config.Config, o Options) (*Budget, error) {
	in, err := Inspect(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	b, err := in.Estimate(ctx)
	return b, errors.Join(err, in.Close())
}

// Estimate reckons the budget. It renders some tasks as their workflow does; on the local engine it loads the model, runs
// some tasks with it and measures it for a moment. It asks no server anything.
func (in *Inspection) Estimate(ctx context.Context) (*Budget, error) {
	if in.job == nil {
		return nil, errors.New("run: each stage has a budget of its own")
	}
	b, err := in.reckon(ctx)
	if err != nil || in.job.backend.Kind != config.Local {
		return b, err
	}
	return b, b.readModel(ctx, in)
}

// readModel reckons the memory, and measures rates and answers on an engine of its own.
func (b *Budget) readModel(ctx context.Context, in *Inspection) error {
	j := in.job
	conf, err := engine.Describe(j.model.dir)
	if err != nil {
		return err
	}
	b.Model, b.Memory = conf, conf.Memory(b.Samples, b.Length, j.cfg.LoRA().Rank)
	if free := FreeMemory(); j.cfg.Model.RandomInit || free > 0 && b.Memory.Training() > free {
		return nil // nothing to load, or it would not fit
	}
	tmp, err := os.MkdirTemp("", "trinity-estimate-")
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer os.RemoveAll(tmp)
	o, err := j.engineOptions()
	if err != nil {
		return err
	}
	o.Dir = filepath.Join(tmp, "engine")
	e, err := engine.Open(o)
	if err != nil {
		return err
	}
	defer e.Close()
	return b.measure(ctx, in, e)
}

// measure finds rates and means on a service.
func (b *Budget) measure(ctx context.Context, in *Inspection, service tinker.Service) (err error) {
	conf := b.Model
	b.Rates, err = probe(ctx, service, in.job.model.name, conf.Vocab, b.Samples, in.job.cfg.LoRA().Rank)
	if err != nil || b.Samples == 0 {
		return err
	}
	return b.pilot(ctx, in, service)
}

// forecast measures the engine before a run that may be long and says how long it takes, so that nobody starts a month on
// a CPU unknowingly. steps are to come. It is empty for a short run, whose steps tell soon enough, and on a server.
func (b *job) forecast(ctx context.Context, steps int) (string, error) {
	if b.engine == nil || b.cfg.Model.RandomInit || !b.cfg.Mode.Explores() || !b.cfg.Mode.Trains() {
		return "", nil
	}
	left, err := b.seen.reckon(ctx)
	if err != nil {
		return "", ctx.Err() // what cannot be reckoned is not told
	}
	if left.Model, err = engine.Describe(b.model.dir); err != nil {
		return "", err
	}
	left.Steps = steps
	products := float64(left.Steps) * float64(left.Model.Parameters) * float64(2*left.MaxSampled+4*left.MaxTrained)
	if products < longRun {
		return "", nil
	}
	if err := left.measure(ctx, b.seen, b.engine); err != nil {
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
		line("model", "%s parameters", Count(b.Model.Parameters))
		line("memory", "%s sampling, %s training; %s free here", Size(m.Sampling()), Size(m.Training()), Size(FreeMemory()))
	}
	if b.Samples > 0 {
		line("data", "%d rows; %d tokens a prompt, the longest of %d looked at %d", b.Rows, b.Prompt, b.Looked, b.Longest)
		line("plan", "%d steps of %d samples: %s and %s in a step%s", b.Steps, b.Samples,
			tokens(b.Sampled, b.MaxSampled, "sampled"), tokens(b.Trained, b.MaxTrained, "trained on"), b.inAll())
	} else {
		line("data", "%d rows; %d tokens a sequence, the longest of %d looked at %d",
			b.Rows, b.Prompt, b.Looked, b.Longest)
		line("plan", "%d steps: %s in a step%s", b.Steps, tokens(b.Trained, b.MaxTrained, "trained on"), b.inAll())
	}
	if b.Tried > 0 {
		line("answers", "%d tokens sampled for each of %d that were tried with the model as it is",
			b.Sampled/int64(b.Samples), b.Tried)
	}
	if b.MaxStepTime() > 0 {
		line("time", "%s", b.duration())
	}
	return t.String()
}

// tokens says how many tokens there are about, and at most.
func tokens(mean, most int64, what string) string {
	switch {
	case most == 0 && mean == 0:
		return "an unknown number of tokens " + what
	case most == 0:
		return fmt.Sprintf("about %s tokens %s", Count(mean), what)
	case mean == 0:
		return fmt.Sprintf("at most %s tokens %s", Count(most), what)
	}
	return fmt.Sprintf("about %s (at most %s) tokens %s", Count(mean), Count(most), what)
}

func (b *Budget) inAll() string {
	if n := b.Sampled + b.Trained; n > 0 && (b.Sampled > 0 || b.Samples == 0) {
		return fmt.Sprintf(", about %s in all", Count(int64(b.Steps)*n))
	}
	return ""
}

// duration says how long it takes.
func (b *Budget) duration() string {
	rates := fmt.Sprintf("%.0f tokens/s sampled, %.0f trained", b.Rates.Sampled, b.Rates.Trained)
	if b.Samples == 0 {
		rates = fmt.Sprintf("%.0f tokens/s", b.Rates.Trained)
	}
	most := time.Duration(b.Steps) * b.MaxStepTime()
	if b.StepTime() == 0 {
		return fmt.Sprintf("at most about %s a step and %s in all (%s); short answers take less",
			roundTime(b.MaxStepTime()), roundTime(most), rates)
	}
	return fmt.Sprintf("about %s a step and %s in all, at most %s (%s)",
		roundTime(b.StepTime()), roundTime(time.Duration(b.Steps)*b.StepTime()), roundTime(most), rates)
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
