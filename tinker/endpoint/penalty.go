package endpoint

import (
	"errors"
	"math"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// penalties change the logits of tokens by how often they were used, and by a bias. repetition divides a logit above 0
// and multiplies one below for every token that was used, in prompt or answer; frequency is subtracted for each use in
// the answer, and presence once (https://docs.vllm.ai, SamplingParams). With a window, as Ollama's, all three look at
// the last tokens of prompt and answer.
type penalties struct {
	presence, frequency, repetition float32
	window                          int // tokens; -1 is none
	bias                            map[int32]float32
}

// readPenalties reads logit_bias and the penalties.
func (s *shape) readPenalties(f param.Fields, t *Text) error {
	presence, frequency, repetition, window := 0.0, 0.0, 1.0, -1
	bias := map[string]float64{}
	_, err1 := f.Take("presence_penalty", &presence)
	_, err2 := f.Take("frequency_penalty", &frequency)
	_, err3 := f.Take("repetition_penalty", &repetition)
	_, err4 := f.Take("logit_bias", &bias)
	_, err5 := f.Take(param.RepeatWindow, &window)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return first(err)
	}
	p := penalties{float32(presence), float32(frequency), float32(repetition), window, map[int32]float32{}}
	for name, x := range bias {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || id < 0 || int(id) >= t.Tokenizer.VocabSize() || !(math.Abs(x) <= 100) {
			return param.Invalid("logit_bias", "logit_bias has %q: %v; the model has tokens 0 to %d, and a bias is "+
				"-100 to 100", name, x, t.Tokenizer.VocabSize()-1)
		}
		p.bias[int32(id)] = float32(x)
	}
	for _, x := range []struct {
		name  string
		value float64
		wrong bool
	}{{"presence_penalty", presence, !(math.Abs(presence) <= 2)}, {"frequency_penalty", frequency,
		!(math.Abs(frequency) <= 2)}, {"repetition_penalty", repetition, !(repetition >= 0.01 && repetition <= 100)}} {
		if x.wrong {
			return param.Invalid(x.name, "%s is %v; presence and frequency penalties are -2 to 2, and a repetition "+
				"penalty is 0.01 to 100", x.name, x.value)
		}
	}
	switch {
	case len(p.bias) > 0:
		s.name = "logit_bias"
	case p.presence != 0:
		s.name = "presence_penalty"
	case p.frequency != 0:
		s.name = "frequency_penalty"
	case p.repetition != 1:
		s.name = "repetition_penalty"
	default:
		return nil
	}
	s.penalties = &p
	return nil
}

// weighed is penalties after some tokens. It implements tinker.Guide.
type weighed struct {
	*penalties
	prompt []int32
	last   *used // nil: none
}

// used is a token of the answer, after others.
type used struct {
	token  int32
	before *used
}

func (p *penalties) guide(prompt []int32) tinker.Guide { return weighed{p, prompt, nil} }

// After implements tinker.Guide.
func (w weighed) After(token int32) tinker.Guide {
	w.last = &used{token, w.last}
	return w
}

// Shape implements tinker.Guide.
func (w weighed) Shape(row []float32) {
	left := w.window
	if left < 0 {
		left = math.MaxInt
	}
	counts := map[int32]int{} // in the answer; of the prompt's tokens, 0
	for u := w.last; u != nil && left > 0; u, left = u.before, left-1 {
		counts[u.token]++
	}
	for i := len(w.prompt) - 1; i >= 0 && left > 0; i, left = i-1, left-1 {
		if n := counts[w.prompt[i]]; w.window >= 0 {
			counts[w.prompt[i]] = n + 1
		} else {
			counts[w.prompt[i]] = n
		}
	}
	for token, n := range counts { // each for itself, so that the order does not matter
		x := row[token]
		switch {
		case w.repetition == 1:
		case x > 0:
			x /= w.repetition
		default:
			x *= w.repetition
		}
		if n > 0 {
			x = float32(x-float32(float32(n)*w.frequency)) - w.presence
		}
		row[token] = x
	}
	for token, x := range w.bias {
		row[token] += x
	}
}
