package modelfile

import (
	"errors"
	"fmt"
	"slices"
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
	if err := v.spaces(); err != nil {
		return err
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

// spaces writes the user's tokens with spaces in place of markers: llama.cpp cuts them out of the text as it is.
func (v *vocabulary) spaces() error {
	ids := make(map[string]int, len(v.tokens))
	for id, text := range v.tokens {
		ids[text] = id
	}
	for id, kind := range v.types {
		if kind != tokenUser {
			continue
		}
		text := strings.ReplaceAll(v.tokens[id], marker, " ")
		if other, there := ids[text]; there && other != id {
			return fmt.Errorf("tokens %d and %d are both %q in a GGUF file, which llama.cpp refuses", other, id, text)
		}
		v.tokens[id], ids[text] = text, id
	}
	return nil
}

// cut leaves out added tokens that have no row in the embedding, as llama.cpp's conversion of SentencePiece's models
// does: <image_soft_token> of Gemma 3, which its models of text alone have no use for.
func (f *tokenizerFile) cut(rows int) {
	f.Added = slices.DeleteFunc(f.Added, func(a addedToken) bool {
		beyond := a.ID >= rows
		if id, ok := f.Model.Vocab[a.Content]; beyond && ok && id == a.ID {
			delete(f.Model.Vocab, a.Content)
		}
		return beyond
	})
}

// complete refuses merges that a SentencePiece model would not have: in one, any two tokens that together are a token
// are a merge. llama.cpp, which has no list of merges, would tokenise differently.
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
