package sampler

import (
	"bytes"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// stops ends the samples of a request: tokens, and strings that may begin and end anywhere inside tokens. The
// model's own end tokens do too, unless the request names stop tokens or sets NoStop.
type stops struct {
	tokens  []int32
	strings [][]byte
	longest int
	bytes   weights.TokenBytes // for strings
}

func newStops(b *weights.Base, p tinker.SamplingParams) (stops, error) {
	s := stops{tokens: p.StopTokens}
	for _, id := range p.StopTokens {
		if id < 0 || int(id) >= b.Config.Vocab {
			return s, tinker.Userf("engine: stop token %d; base model %q has tokens 0 to %d", id, b.Name,
				b.Config.Vocab-1)
		}
	}
	switch {
	case p.NoStop && len(p.StopTokens)+len(p.StopStrings) > 0:
		return s, tinker.Userf("engine: no_stop goes with neither stop tokens %v nor stop strings %q", p.StopTokens,
			p.StopStrings)
	case p.NoStop:
		return stops{}, nil
	case len(p.StopTokens) == 0:
		s.tokens = b.Ends
	}
	if len(p.StopStrings) == 0 {
		return s, nil
	}
	bytes, err := b.Tokenizer()
	if err := s.add(p.StopStrings, bytes); err != nil { // which is the request's error
		return s, err
	}
	return s, err
}

// add adds strings that stop.
func (s *stops) add(list []string, bytes weights.TokenBytes) error {
	for _, str := range list {
		if str == "" {
			return tinker.Userf("engine: a stop string is empty; leave it out")
		}
		s.strings = append(s.strings, []byte(str))
		s.longest = max(s.longest, len(str))
	}
	s.bytes = bytes
	return nil
}

// after reports whether a token ends a sample. tail is the end of the sample's bytes, which may be the beginning of a
// stop string; after updates it.
func (s *stops) after(token int32, tail *[]byte) bool {
	if slices.Contains(s.tokens, token) {
		return true
	}
	if len(s.strings) == 0 {
		return false
	}
	t := append(*tail, s.bytes.Bytes(token)...)
	for _, str := range s.strings {
		if bytes.Contains(t, str) {
			return true
		}
	}
	if drop := len(t) - (s.longest - 1); drop > 0 {
		t = t[:copy(t, t[drop:])]
	}
	*tail = t
	return false
}
