package modelfile

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// marker stands for a space in vocabularies that come from SentencePiece.
const marker = "▁"

func isByte(text string) bool {
	return len(text) == 6 && strings.HasPrefix(text, "<0x") && text[5] == '>' &&
		strings.Trim(text[3:5], "0123456789ABCDEF") == ""
}

// pieces adds what a tokenizer converted from SentencePiece has. llama.cpp merges the pair whose whole has the highest
// score: so the k-th distinct whole in the list of merges gets -k, and tokens that are no whole, 0.
func (v *vocabulary) pieces(file *tokenizerFile, pre preTokenizer, norm normalizer) error {
	if !file.Model.ByteFallback {
		return errors.New("a tokenizer of characters without byte_fallback cannot be written as GGUF; " +
			"write a Hugging Face folder, without --gguf")
	}
	v.model, v.pre, v.scores = "llama", "default", make([]float32, len(v.tokens))
	inner, seen := false, map[int]bool{}
	for _, m := range file.Model.Merges {
		id, ok := file.Model.Vocab[m[0]+m[1]]
		if !ok {
			return fmt.Errorf("the merge of %q and %q is not a token", m[0], m[1])
		}
		if !seen[id] {
			v.scores[id] = -float32(len(seen))
			seen[id] = true
		}
		inner = inner || strings.Contains(m[1], marker)
	}
	if err := v.complete(file); err != nil {
		return err
	}
	for id, kind := range v.types {
		if kind == tokenUser {
			v.tokens[id] = strings.ReplaceAll(v.tokens[id], marker, " ")
		}
	}
	how := strings.TrimSpace(norm.key() + " " + pre.key())
	split := pre.Split == nil || *pre.Split
	switch {
	case how == "Prepend("+marker+") Replace(space)":
		v.spacePrefix = true
	case how == "Replace(space)", how == "Replace(space) Split(space)": // Gemma's; no space is left to split at
	case how == "Metaspace" && pre.Replacement == marker && !(split && inner):
		v.spacePrefix = pre.Prepend != "never" && (pre.Prefix == nil || *pre.Prefix)
	default:
		return fmt.Errorf("the normalizer and pre_tokenizer %q cannot be written as GGUF; write a Hugging Face "+
			"folder, without --gguf", how)
	}
	return nil
}

// complete refuses merges that are not those of a SentencePiece model, where any two tokens whose whole is a token are
// a merge: llama.cpp, which has no list of merges, would tokenise in another way.
func (v *vocabulary) complete(file *tokenizerFile) error {
	listed := make(map[merge]bool, len(file.Model.Merges))
	for _, m := range file.Model.Merges {
		listed[m] = true
	}
	normal := func(text string) bool {
		id, ok := file.Model.Vocab[text]
		return ok && v.types[id] == tokenNormal
	}
	for text, id := range file.Model.Vocab {
		if v.types[id] != tokenNormal {
			continue
		}
		for at := range text {
			left, right := text[:at], text[at:]
			if at > 0 && utf8.ValidString(left) && normal(left) && normal(right) && !listed[merge{left, right}] {
				return fmt.Errorf("%q and %q make the token %q and are not among the merges, as they are in a "+
					"SentencePiece model; write a Hugging Face folder, without --gguf", left, right, text)
			}
		}
	}
	return nil
}
