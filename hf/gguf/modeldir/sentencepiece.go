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

// unknown is the token that stands for what has none.
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
// the highest score. So each way of making a token is a merge, and that of a token with a higher score comes first.
func (v vocabulary) scored() ([][2]string, error) {
	scores, _, err := v.m.Floats("tokenizer.ggml.scores")
	switch {
	case err != nil:
		return nil, err
	case len(scores) != len(v.tokens):
		return nil, fmt.Errorf("tokenizer.ggml.scores has %d entries for %d tokens; convert the model again",
			len(scores),
			len(v.tokens))
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
	slices.SortStableFunc(ways, func(a, b split) int {
		return cmp.Or(cmp.Compare(scores[b.id], scores[a.id]), cmp.Compare(a.id, b.id), cmp.Compare(b.at, a.at))
	})
	return v.pairs(ways, scores)
}

// piece reports whether a text is a token that can be part of another.
func (v vocabulary) piece(s string) bool {
	id, ok := v.ids[s]
	return ok && s != "" && !v.cut(id)
}

// pairs spells the merges. Two tokens with one score (or one that is not a number) are refused: of these SentencePiece
// merges the one further left, which no list of merges can say. Converters that did not have the scores write one score
// for all.
func (v vocabulary) pairs(ways []split, scores []float64) ([][2]string, error) {
	merges := make([][2]string, len(ways))
	for i, w := range ways {
		s := v.tokens[w.id]
		merges[i] = [2]string{s[:w.at], s[w.at:]}
		if i > 0 && w.id != ways[i-1].id && v.kindOf(w.id) == tokenNormal && !(scores[w.id] < scores[ways[i-1].id]) {
			return nil, fmt.Errorf("tokens %.40q and %.40q have one score, %v, so the file does not say which merge "+
				"comes first: its converter did not have the tokenizer's scores (tokenizer.model); use another file "+
				"of the model, or its Hugging Face folder", v.tokens[ways[i-1].id], s, scores[w.id])
		}
	}
	if len(merges) == 0 {
		return nil, errors.New("no token is made of two others; convert the model again")
	}
	return merges, nil
}
