package run

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/logfile"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// progress tells a person how the run goes: a line per step, and on a terminal a live line below them.
type progress struct {
	out      io.Writer
	log      *slog.Logger // the same for log/run.log
	terminal bool
	now      func() time.Time
	seed     uint64
	total    int // train steps; 0 is unknown, or not yet known

	mu    sync.Mutex
	live  string // what the live line says
	first int    // the first step of this process
	begin time.Time
	done_ bool
}

func (b *job) newProgress() (*progress, error) {
	f, err := b.openLog()
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	b.opened(f.Close)
	level, _ := logfile.Level(b.cfg.Log.Level) // what validation lets through is one
	return &progress{out: b.Out, log: slog.New(logfile.NewHandler(f, "run", level)), terminal: b.Terminal, now: b.Now, seed: b.identity.Seed, first: -1}, nil
}

// openLog opens log/run.log for appending. It is for people: nothing is ever read back from it.
func (b *job) openLog() (*os.File, error) {
	dir := filepath.Join(b.dir, "log")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, "run.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
}

// plan says what is about to happen, before anything long begins.
func (p *progress) plan(b *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "job      %s\nseed     %d\n", b.dir, int64(p.seed))
	c := b.cfg
	switch {
	case c.Mode == config.Bench:
		return
	case c.Mode == config.Serve:
		return
	case c.Mode == config.ServeTrain:
		fmt.Fprintf(p.out, "plan     %s: steps of %d experiences that are committed\n", c.Algorithm.Type, c.Buffer.TrainBatchSize)
	case c.Mode == config.Explore:
		fmt.Fprintf(p.out, "plan     explore %d steps of %d tasks × %d samples for a trainer in another process\n", b.explorer.Steps, c.Buffer.BatchSize, c.Algorithm.RepeatTimes)
		if first := b.explorer.First; first > 1 {
			fmt.Fprintf(p.out, "resume   with explore step %d\n", first)
		}
		return
	case c.Mode == config.Train:
		fmt.Fprintf(p.out, "plan     %s: %d steps of %d examples\n", c.Algorithm.Type, p.total, c.Buffer.TrainBatchSize)
	default:
		samples := c.Buffer.BatchSize * c.Algorithm.RepeatTimes
		tokens := "?"
		if c.Model.MaxResponseTokens != nil && c.Model.MaxPromptTokens != nil {
			tokens = fmt.Sprintf("%d", samples*(*c.Model.MaxResponseTokens+*c.Model.MaxPromptTokens))
		}
		fmt.Fprintf(p.out, "plan     %s: %d steps, each %d tasks × %d samples, at most %s tokens; the time left is shown from the second step on\n",
			c.Algorithm.Type, p.total, c.Buffer.BatchSize, c.Algorithm.RepeatTimes, tokens)
	}
	p.log.Info("start", "job", b.dir, "seed", int64(p.seed), "steps", p.total, "behind", b.trainer.Step())
	if done := b.complete(); done != "" {
		fmt.Fprintln(p.out, "done    ", done)
		return
	}
	if step := b.trainer.Step(); step > 0 || b.lost > 0 {
		again := ""
		if b.lost > 0 {
			again = fmt.Sprintf(", the last state that was saved; up to step %d training repeats, on the samples there are", step+b.lost)
		}
		fmt.Fprintf(p.out, "resume   behind step %d%s\n", step, again)
	}
}

// step prints the line of a step.
func (p *progress) step(step int, m monitor.Metrics) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first < 0 && step > 0 {
		p.first, p.begin = step, p.now()
	}
	parts := []string{fmt.Sprintf("step %d", step)}
	_, rewarded := m[rewardKey]
	_, known := m[nllKey]
	if p.total > 0 {
		parts[0] = fmt.Sprintf("step %*d/%d", len(fmt.Sprint(p.total)), step, p.total)
	}
	for _, c := range []struct{ key, format string }{
		{"critic/rewards/mean", "reward %.3f"}, {"rollout/accuracy/mean", "accuracy %.3f"}, {nllKey, "nll %.4f"}, {lossKey, "loss %.4f"},
		{"response_length/mean", "length %.1f"}, {"perf/sampled_tokens_per_second", "sampled %.0f tok/s"},
		{"perf/train_tokens_per_second", "trained %.0f tok/s"},
	} {
		if v, ok := m[c.key]; ok && !(c.key == lossKey && (rewarded || known)) { // a policy loss says nothing to a person
			parts = append(parts, fmt.Sprintf(c.format, v))
		}
	}
	for _, key := range m.Keys() {
		if strings.HasPrefix(key, "eval/") && strings.Contains(key, "/accuracy/mean@") {
			parts = append(parts, fmt.Sprintf("%s %.3f", key, m[key]))
		}
	}
	if left := p.left(step); left > 0 {
		parts = append(parts, "left "+left.Round(time.Second).String())
	}
	p.log.Info(strings.Join(parts[1:], "  "), "step", step)
	p.clear()
	fmt.Fprintln(p.out, strings.Join(parts, "  "))
	p.draw()
}

// left estimates the time that the remaining steps take, from the second step of this process on.
func (p *progress) left(step int) time.Duration {
	if p.total == 0 || step <= p.first || p.first < 0 {
		return 0
	}
	return p.now().Sub(p.begin) / time.Duration(step-p.first) * time.Duration(p.total-step)
}

// phase sets the live line.
func (p *progress) phase(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.live = what
	p.draw()
}

func (p *progress) explored(step, n int) {
	p.phase(fmt.Sprintf("explored step %d (%d samples)", step, n))
}

// paused shows why requests to the server are held up: on the live line, and when that begins or ends as a line of its own.
func (p *progress) paused(e client.Pause) {
	text := "the server goes on"
	switch e.State {
	case client.Capacity:
		text = "waiting: the server has no room now"
	case client.RateLimited:
		text = "waiting: the server says that these are too many requests"
	case client.Billing:
		text = "waiting: the account's billing must be put in order"
	case client.Unreachable:
		text = "waiting for the server"
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.log.Info(text)
	fmt.Fprintln(p.out, text)
	p.draw()
}

// warn prints a line for the user that is no progress.
func (p *progress) warn(msg string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.log.Warn(msg)
	fmt.Fprintln(p.out, "warning:", msg)
	p.draw()
}

// done takes the live line away.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.done_ = true
}

func (p *progress) clear() {
	if p.terminal && p.live != "" {
		io.WriteString(p.out, "\r\x1b[K")
	}
}

func (p *progress) draw() {
	if p.terminal && p.live != "" && !p.done_ {
		io.WriteString(p.out, p.live)
	}
}
