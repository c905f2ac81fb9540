package ownmodel

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// plan is what was chosen; its configuration says all of it.
type plan struct {
	Request
	model      string // as the configuration names it
	reward     string // the same
	out        string // absolute
	prompt     int    // tokens of the longest prompt
	answer     int    // tokens an answer may have
	sft, grpo  int    // steps; 0 leaves the stage out
	why        []string
	answersLen int // mean tokens
}

const (
	sftBatch   = 8
	sftEpochs  = 4
	tasks      = 4 // of a step of GRPO
	group      = 8 // samples of a task
	fewestRL   = 5 // steps of GRPO that are worth a stage
	mostRL     = 200
	freeAnswer = 128 // tokens of an answer that the data does not show
	rarely     = 0.5 // a model that scores less learns from the answers first
	spared     = 0.9 // the share of the time that is planned
)

// say notes a choice and its reason.
func (p *plan) say(format string, args ...any) { p.why = append(p.why, fmt.Sprintf(format, args...)) }

// lengths sets the longest prompt and answer by the tokens of the data. templated is how many tokens a chat template
// may add to a prompt.
func (p *plan) lengths(d *Data, tok *tokenizer.Tokenizer, context int) error {
	const templated = 64
	longest, sum, n := 0, 0, 0
	for _, e := range slices.Concat(d.Train, d.Held) {
		p.prompt = max(p.prompt, len(tok.Encode(e.Prompt, false)))
		answer := len(tok.Encode(e.Answer, false))
		longest, sum, n = max(longest, answer), sum+answer, n+1
	}
	p.answersLen = sum / n
	p.say("prompts have at most %d tokens", p.prompt)
	p.prompt += templated
	p.answer = freeAnswer
	if d.AnswerFrom != "" {
		p.answer = longest + max(4, longest/4)
		p.say("answers have %d tokens on average and %d at most, so the model may write %d", p.answersLen, longest,
			p.answer)
	}
	if p.prompt+p.answer > context {
		return fmt.Errorf("train: the longest row has %d tokens with room for its answer, and the model's context is "+
			"%d; shorten or remove the long rows", p.prompt+p.answer, context)
	}
	return nil
}

// stages chooses what to train by the data and by how often the model scores before training; score is its mean reward
// on the rows held out. Steps are set later.
func (p *plan) stages(d *Data, score float64) {
	switch {
	case d.AnswerFrom == "":
		p.grpo = 1
		p.say("GRPO alone: there are no answers to learn from, the reward decides")
	case p.SFT:
		p.sft = 1
		p.say("SFT alone: --sft")
	case d.Labels:
		p.sft = 1
		p.say("SFT alone: the answers are labels (%d different ones), which are learned, not found", d.Distinct)
	case score < rarely:
		p.sft, p.grpo = 1, 1
		p.say("SFT first: the model scores %.2f, too rarely to learn from rewards alone", score)
		p.say("then GRPO: answers are generated, so samples can be compared")
	default:
		p.grpo = 1
		p.say("GRPO alone: the model scores %.2f already", score)
	}
}

// steps fits the steps of the stages into the time left; sft and grpo are how long a step of each takes.
func (p *plan) steps(rows int, left, sft, grpo time.Duration) {
	fit := func(share time.Duration, step time.Duration) int {
		return int(share / max(step, time.Millisecond))
	}
	alone := p.sft == 0 || p.grpo == 0
	if p.sft > 0 {
		share := left
		if !alone {
			share /= 2
		}
		wanted := int(math.Ceil(float64(sftEpochs*rows) / sftBatch))
		p.sft = max(1, min(wanted, fit(share, sft)))
		p.say("SFT: %d steps of %d rows, %.1f passes over the data (at most %d); a step takes about %s", p.sft,
			sftBatch, float64(p.sft*sftBatch)/float64(rows), sftEpochs, short(sft))
		left -= time.Duration(p.sft) * sft
	}
	if p.grpo == 0 {
		return
	}
	p.grpo = min(mostRL, fit(left, grpo))
	if p.grpo < fewestRL && !alone {
		p.grpo = 0
		p.say("no GRPO: fewer than %d steps fit; give it more --minutes", fewestRL)
		return
	}
	p.grpo = max(1, p.grpo)
	p.say("GRPO: %d steps of %d prompts × %d samples; a step takes about %s", p.grpo, tasks, group, short(grpo))
}

// last is the name of the stage that trains last.
func (p *plan) last() string {
	if p.grpo > 0 {
		return "grpo"
	}
	return "sft"
}

// short is a time of two or three digits.
func short(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f minutes", d.Minutes())
}

// rewardName is the name in configurations of a reward of the command line, and whether it needs answers.
func rewardName(given string, abs func(string) string) (name string, answers bool, err error) {
	switch given {
	case "exact", "contains", "math", "json":
		return given + "_reward", true, nil
	}
	file, function, found := strings.Cut(given, ".py")
	if !found || function != "" && function[0] != ':' {
		return "", false, fmt.Errorf("train: --reward %s is not known; choose exact, contains, math or json, or a "+
			"function of your own: FILE.py or FILE.py:function", given)
	}
	return abs(file+".py") + function, false, nil
}
