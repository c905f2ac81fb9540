package gem

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// The escape sequences of the colours that the seed prints with.
const (
	blue         = "\x1b[34m"
	lightRed     = "\x1b[1m\x1b[91m"
	lightMagenta = "\x1b[1m\x1b[95m"
	plain        = "\x1b[0m"
)

// shownEpisodes is how many episodes of a step are printed.
const shownEpisodes = 2

// say prints a line, if metrics are wanted at all.
func (t *Trainer) say(format string, args ...any) {
	if t.Config.Metrics {
		fmt.Fprintf(t.Out, format+"\n", args...)
	}
}

// busy says what the run is busy with, unless it prints nothing.
func (t *Trainer) busy(format string, args ...any) {
	if t.Config.Metrics {
		t.Busy.With(fmt.Sprintf(format, args...))
	}
}

func (t *Trainer) heading(step int) {
	t.say("%s Step %d %s", strings.Repeat("=", 10), step, strings.Repeat("=", 10))
}

func (t *Trainer) colored(text, color string) string {
	if !t.Color {
		return text
	}
	return color + text + plain
}

// printEpisodes prints the first episodes turn by turn, as tokens read back.
func (t *Trainer) printEpisodes(episodes []Turns) {
	for n, e := range episodes[:min(shownEpisodes, len(episodes))] {
		t.say("----- episode %d -----", n)
		for i, turn := range e {
			t.say("turn=%d", i+1)
			t.say("%s", t.colored(foreign.Plain(t.Tokens.Decode(turn.Tokens[:turn.PromptLength], false)), blue))
			t.say("%s", t.colored(foreign.Plain(t.Tokens.Decode(turn.Response(), false)), lightRed))
			t.say("%s", t.colored(fmt.Sprintf("reward=%v", turn.RewardOr(0)), lightMagenta))
		}
	}
}

// plan says what is about to be done, before anything long begins.
func (t *Trainer) plan() {
	c := &t.Config
	t.begun, t.first = t.Now(), t.done
	if t.first > 0 {
		t.say("resume after step %d", t.first-1)
	}
	if n := c.MaxSteps - t.first; n > 0 {
		t.say("plan: %d steps, each at least %d answers of at most %d tokens; the time left is shown from the first "+
			"step on", n, c.BatchSize, c.MaxTokens)
	}
}

// left estimates the time that the remaining steps take.
func (t *Trainer) left() {
	done, left := t.done-t.first, t.Config.MaxSteps-t.done
	if done > 0 && left > 0 {
		t.say("left: %v", (t.Now().Sub(t.begun) / time.Duration(done) * time.Duration(left)).Round(time.Second))
	}
}

// printMetrics prints the metrics of a step as a Python dictionary.
func (t *Trainer) printMetrics(step int, m monitor.Metrics) {
	var b strings.Builder
	fmt.Fprintf(&b, "{'step': %d", step)
	for _, key := range m.Keys() {
		fmt.Fprintf(&b, ",\n '%s': %v", key, m[key])
	}
	t.say("%s}", b.String())
}
