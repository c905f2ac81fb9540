package run

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// progress tells a person how the run goes: a line per step, and on a terminal a live line below them.
type progress struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	seed     uint64
	total    int // train steps; 0 is unknown

	mu    sync.Mutex
	live  string // what the live line says
	first int    // the first step of this process
	begin time.Time
	done_ bool
}

func newProgress(o Options, id identity, total int) *progress {
	return &progress{out: o.Out, terminal: o.Terminal, now: o.Now, seed: id.Seed, total: total, first: -1}
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
	case c.Mode == config.Train:
		fmt.Fprintf(p.out, "plan     %s: %d steps of %d examples\n", c.Algorithm.Type, p.total, c.Buffer.TrainBatchSize)
	default:
		samples := c.Buffer.BatchSize * c.Algorithm.RepeatTimes
		tokens := "?"
		if c.Model.MaxResponseTokens != nil && c.Model.MaxPromptTokens != nil {
			tokens = fmt.Sprintf("%d", samples*(*c.Model.MaxResponseTokens+*c.Model.MaxPromptTokens))
		}
		fmt.Fprintf(p.out, "plan     %s: %d steps, each %d tasks × %d samples, at most %s tokens; the time left is shown from the first step on\n",
			c.Algorithm.Type, p.total, c.Buffer.BatchSize, c.Algorithm.RepeatTimes, tokens)
	}
	if step := b.trainer.Step(); step > 0 {
		fmt.Fprintf(p.out, "resume   behind step %d\n", step)
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
	if p.total > 0 {
		parts[0] = fmt.Sprintf("step %*d/%d", len(fmt.Sprint(p.total)), step, p.total)
	}
	for _, c := range []struct{ key, format string }{
		{"critic/rewards/mean", "reward %.3f"}, {"rollout/accuracy/mean", "accuracy %.3f"}, {lossKey, "loss %.4f"},
		{"response_length/mean", "length %.1f"}, {"perf/sampled_tokens_per_second", "sampled %.0f tok/s"},
		{"perf/train_tokens_per_second", "trained %.0f tok/s"},
	} {
		if v, ok := m[c.key]; ok && !(c.key == lossKey && rewarded) { // a policy loss says nothing to a person
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

// warn prints a line for the user that is no progress.
func (p *progress) warn(msg string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
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
