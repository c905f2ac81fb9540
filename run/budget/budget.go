// Package budget reckons what a configuration takes before it runs: tokens, memory and time. It counts the tasks of a
// run as their workflows render them, tries some with the model as it is, and measures the engine for a moment.
package budget

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

// Budget is the cost of a configuration, estimated before anything runs. Means are of the model as it is now,
// measured on some tasks; they are 0 if nothing was measured, as on a server. What begins with Max holds whatever
// the model answers.
type Budget struct {
	Model  engine.Description    // of the local engine; zero on a server
	Memory engine.MemoryEstimate // the same, with sequences as long as they may be
	Rows   int                   // of the data
	// mean tokens of a task's first prompt, system prompt included; in mode train of a sequence
	Prompt     int
	Longest    int // of those looked at
	Looked     int // how many were
	Length     int // tokens of a sequence at most
	Steps      int
	Samples    int   // of a step; 0 in mode train
	Tried      int   // samples that the means of answers are of
	Sampled    int64 // tokens sampled in a step, mean
	MaxSampled int64 // 0: not known
	Trained    int64 // tokens trained on in a step, mean
	MaxTrained int64
	Rates      Rates // zero on a server
}

// StepTime is how long a step takes at the measured rates; 0 if they or the means are not known.
func (b *Budget) StepTime() time.Duration {
	if b.Sampled == 0 && b.Samples > 0 {
		return 0
	}
	return b.Rates.time(b.Sampled, b.Trained)
}

// MaxStepTime is the most that a step takes at the measured rates, 0 if they are not known.
func (b *Budget) MaxStepTime() time.Duration {
	if b.MaxSampled == 0 && b.Samples > 0 {
		return 0
	}
	return b.Rates.time(b.MaxSampled, b.MaxTrained)
}

// time is how long sampling and training that many tokens takes.
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

// String is the budget in a few lines.
func (b *Budget) String() string {
	var t strings.Builder
	line := func(key, format string, args ...any) {
		fmt.Fprintf(&t, "%-8s %s\n", key, fmt.Sprintf(format, args...))
	}
	if b.Memory.Weights > 0 {
		m := b.Memory
		line("model", "%s parameters", Count(b.Model.Parameters))
		line("memory", "%s sampling, %s training; %s free here", Size(m.Sampling()), Size(m.Training()),
			Size(FreeMemory()))
	}
	if b.Samples > 0 {
		line("data", "%d rows; %d tokens a prompt, the longest of %d looked at %d", b.Rows, b.Prompt, b.Looked,
			b.Longest)
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
		line("time", "%s", b.Duration())
	}
	if busy := b.Rates.Busy(); busy != "" {
		line("busy", "%s", busy)
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

// Duration says how long it takes.
func (b *Budget) Duration() string {
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
