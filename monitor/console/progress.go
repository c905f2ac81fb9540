// Package console writes to the terminal: Progress while a run is under way, Summary when it is over.
// It draws nothing else and decides nothing.
package console

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/logfile"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// Progress tells a person how a run goes: a line per step, and on a terminal a live line below them. It is safe for
// concurrent use.
type Progress struct {
	Options
	file *os.File
	log  *slog.Logger // the same for log/run.log

	mu    sync.Mutex
	total int    // train steps; 0 is unknown, or not yet known
	step  int    // the last one that was printed
	live  string // what the live line says
	first int    // the first step of this process
	begin time.Time
	over  bool
}

// Options set a Progress up.
type Options struct {
	Out      io.Writer
	Terminal bool // Out is a terminal
	Now      func() time.Time
	Dir      string // the job directory, for log/run.log
	Level    string // of that log
	Busy     *Busy  // told what the run is doing; may be nil
}

// Open makes a Progress, which writes log/run.log too. Nothing is read back from that file.
func Open(o Options) (*Progress, error) {
	dir := filepath.Join(o.Dir, "log")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "run.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	level, _ := logfile.Level(o.Level) // what validation lets through is one
	return &Progress{Options: o, file: f, log: slog.New(logfile.NewHandler(f, "run", level)), first: -1}, nil
}

// Close closes the log.
func (p *Progress) Close() error { return p.file.Close() }

// Start notes in the log that a run of total train steps begins, which may be 0 for unknown; more are pairs of names
// and values.
func (p *Progress) Start(total int, more ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = total
	p.log.Info("start", more...)
}

// Step prints the line of a step.
func (p *Progress) Step(step int, m monitor.Metrics) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first < 0 && step > 0 {
		p.first, p.begin = step, p.Now()
	}
	parts := []string{fmt.Sprintf("step %d", step)}
	_, rewarded := m[rewardKey]
	_, known := m[nllKey]
	if p.total > 0 {
		parts[0] = fmt.Sprintf("step %*d/%d", len(fmt.Sprint(p.total)), step, p.total)
	}
	for _, c := range []struct{ key, format string }{
		{"critic/rewards/mean", "reward %.3f"}, {"rollout/accuracy/mean", "accuracy %.3f"},
		{nllKey, "nll %.4f"}, {lossKey, "loss %.4f"},
		{"response_length/mean", "length %.1f"}, {"perf/sampled_tokens_per_second", "sampled %.0f tok/s"},
		{"perf/train_tokens_per_second", "trained %.0f tok/s"},
	} {
		// a policy loss says nothing to a person
		if v, ok := m[c.key]; ok && !(c.key == lossKey && (rewarded || known)) {
			parts = append(parts, fmt.Sprintf(c.format, v))
		}
	}
	for _, key := range evaluations(m.Keys(), "mean@") {
		parts = append(parts, fmt.Sprintf("%s %.3f", key, m[key]))
	}
	if left := p.left(step); left > 0 {
		parts = append(parts, "left "+left.Round(time.Second).String())
	}
	p.log.Info(strings.Join(parts[1:], "  "), "step", step)
	p.clear()
	fmt.Fprintln(p.Out, strings.Join(parts, "  "))
	p.step = step
	p.next()
	p.draw()
}

// Begin says which step was the last one before this process.
func (p *Progress) Begin(step int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = step
	p.next()
}

// next says that the run is busy with the step after the last one.
func (p *Progress) next() {
	if p.total > 0 && p.step >= p.total {
		p.Busy.With("saving")
		return
	}
	p.Busy.With(fmt.Sprintf("step %d", p.step+1))
}

// left estimates the time that the remaining steps take, from the second step of this process on.
func (p *Progress) left(step int) time.Duration {
	if p.total == 0 || step <= p.first || p.first < 0 {
		return 0
	}
	return p.Now().Sub(p.begin) / time.Duration(step-p.first) * time.Duration(p.total-step)
}

// Phase says what the run is busy with, on the live line if there is one.
func (p *Progress) Phase(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Busy.With(what)
	p.show(what)
}

// Explored says that an explore step is done; the run is busy with the train step that comes next.
func (p *Progress) Explored(step, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next()
	p.show(fmt.Sprintf("explored step %d (%d samples)", step, n))
}

// show sets the live line.
func (p *Progress) show(what string) {
	p.clear()
	p.live = what
	p.draw()
}

// Say prints a line of its own.
func (p *Progress) Say(text string) {
	text = foreign.Text(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.log.Info(text)
	fmt.Fprintln(p.Out, text)
	p.draw()
}

// Warn prints a line for the user that is not a progress.
func (p *Progress) Warn(msg string) {
	msg = foreign.Text(msg)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.log.Warn(msg)
	fmt.Fprintln(p.Out, "warning:", msg)
	p.draw()
}

// Done takes the live line away.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Busy.With("")
	p.clear()
	p.over = true
}

func (p *Progress) clear() {
	if p.Terminal && p.live != "" {
		io.WriteString(p.Out, "\r\x1b[K")
	}
}

func (p *Progress) draw() {
	if p.Terminal && p.live != "" && !p.over {
		io.WriteString(p.Out, p.live)
	}
}
