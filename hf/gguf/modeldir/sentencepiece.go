package modeldir

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// marker stands for a space in the tokens of SentencePiece.
const marker = "▁"

// maxPiece is how long a token may be, in bytes, that merges make. SentencePiece makes none of more than 16 characters
// unless it is told to.
const maxPiece = 256

// sentencePiece adds what SentencePiece's BPE needs to a tokenizer.json, in the way of Llama 2's: spaces become marker,
// characters are merged, and one without a token becomes the tokens of its bytes.
func (v vocabulary) sentencePiece(tok map[string]any) error {
	merges, err := v.scored()
	if err != nil {
		return err
	}
	prefix, ok, err := v.m.Bool("tokenizer.ggml.add_space_prefix")
	if err != nil {
		return err
	}
	prefix = prefix || !ok
	replace := func(from, to string) map[string]any {
		return map[string]any{"type": "Replace", "pattern": map[string]any{"String": from}, "content": to}
	}
	normalizers := []any{replace(" ", marker)}
	decoders := []any{replace(marker, " "), map[string]any{"type": "ByteFallback"}, map[string]any{"type": "Fuse"}}
	if prefix {
		normalizers = slices.Insert(normalizers, 0, any(map[string]any{"type": "Prepend", "prepend": marker}))
		decoders = append(decoders, map[string]any{"type": "Strip", "content": " ", "start": 1, "stop": 0})
	}
	unknown, err := v.unknown()
	if err != nil {
		return err
	}
	tok["normalizer"] = map[string]any{"type": "Sequence", "normalizers": normalizers}
	tok["pre_tokenizer"] = nil
	tok["decoder"] = map[string]any{"type": "Sequence", "decoders": decoders}
	tok["model"] = v.bpe(merges, unknown, true, false)
	return nil
}

// unknown is the token for text that has none.
func (v vocabulary) unknown() (any, error) {
	id, ok, err := tokenID(v.m, "unknown")
	switch {
	case err != nil:
		return nil, err
	case ok && id < int64(len(v.tokens)):
		return v.tokens[id], nil
	case len(v.tokens) > 0 && v.kindOf(0) == tokenUnknown:
		return v.tokens[0], nil
	}
	return nil, nil
}

// split is a way of making a token of two others.
type split struct {
	id, at int // the token, and how many of its bytes are the left part
}

// scored turns the scores of the tokens into merges. SentencePiece merges the two neighbours that make the token with
// the highest score. So each way of making a token is a merge, and tokens with higher scores come first.
func (v vocabulary) scored() ([][2]string, error) {
	scores, _, err := v.m.Floats("tokenizer.ggml.scores")
	switch {
	case err != nil:
		return nil, err
	case len(scores) != len(v.tokens):
		return nil, fmt.Errorf("tokenizer.ggml.scores has %d entries for %d tokens; convert the model again",
			len(scores), len(v.tokens))
	}
	var ways []split
	for id, s := range v.tokens {
		if v.cut(id) || utf8.RuneCountInString(s) < 2 {
			continue
		}
		if len(s) > maxPiece {
			return nil, fmt.Errorf("token %d, %.40q…, has %d bytes; at most %d are supported", id, s, len(s), maxPiece)
		}
		for at := range s {
			if v.piece(s[:at]) && v.piece(s[at:]) {
				ways = append(ways, split{id, at})
			}
		}
	}
	slices.SortStableFunc(ways, func(a, b split) int { return compareSplits(a, b, scores) })
	return v.pairs(ways, scores)
}

// compareSplits is the order of merges: by score, then by id.
func compareSplits(a, b split, scores []float64) int {
	return cmp.Or(cmp.Compare(scores[b.id], scores[a.id]), cmp.Compare(a.id, b.id), cmp.Compare(b.at, a.at))
}

// piece reports whether a text is a token that can be part of another.
func (v vocabulary) piece(s string) bool {
	id, ok := v.ids[s]
	return ok && s != "" && !v.cut(id)
}

// pairs spells the merges. Of two tokens with one score llama.cpp merges the one further left, which no list of merges
// can say. Runs of one character, such as the runs of spaces of Llama 2 and Mistral, are the exception: see
// checkRuns. Other tokens with one score, or with one that is not a number, are refused.
func (v vocabulary) pairs(ways []split, scores []float64) ([][2]string, error) {
	merges, tied := make([][2]string, len(ways)), map[string]bool{}
	for i, w := range ways {
		s := v.tokens[w.id]
		merges[i] = [2]string{s[:w.at], s[w.at:]}
		if i == 0 || w.id == ways[i-1].id || v.kindOf(w.id) != tokenNormal || scores[w.id] < scores[ways[i-1].id] {
			continue
		}
		other := v.tokens[ways[i-1].id]
		of := runOf(s)
		if of == "" || of != runOf(other) || scores[w.id] != scores[ways[i-1].id] {
			return nil, fmt.Errorf("tokens %.40q and %.40q have one score, %v, so llama.cpp merges the one further "+
				"left, which a tokenizer.json cannot say; a converter without tokenizer.model, which has the scores, "+
				"writes one for all: use another file of the model, or its Hugging Face folder", other, s, scores[w.id])
		}
		tied[of] = true
	}
	if len(merges) == 0 {
		return nil, errors.New("no token is made of two others; convert the model again")
	}
	for of := range tied {
		if err := v.checkRuns(of, scores); err != nil {
			return nil, err
		}
	}
	return merges, nil
}
