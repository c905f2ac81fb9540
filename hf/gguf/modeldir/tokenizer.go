package modeldir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// The types of tokens in tokenizer.ggml.token_type.
const (
	tokenNormal  = 1
	tokenUnknown = 2
	tokenControl = 3
	tokenUser    = 4
)

// The kinds of tokenizers in tokenizer.ggml.model.
const (
	byteLevel     = "gpt2"  // byte-level BPE
	sentencePiece = "llama" // SentencePiece's BPE of characters, with scores
)

// vocabulary is the tokenizer's part of the metadata.
type vocabulary struct {
	m      gguf.Metadata
	kind   string
	tokens []string
	types  []int64        // nil: all are normal
	ids    map[string]int // of tokens
	turns  map[int]bool   // tokens that are control whatever types has
	ends   []int64        // the ends of turns that config.json names, see stops
}

// files are tokenizer.json and tokenizer_config.json.
func (v vocabulary) files() (tok, conf []byte, err error) {
	settings, err := v.config()
	if err != nil {
		return nil, nil, err
	}
	whole, given, err := v.m.Text("tokenizer.huggingface.json")
	switch {
	case err != nil:
		return nil, nil, err
	case given:
		tok = []byte(whole)
	default:
		if tok, err = v.tokenizer(); err != nil {
			return nil, nil, err
		}
	}
	t, err := tokenizer.Parse(tok)
	if err != nil {
		return nil, nil, fmt.Errorf("the file's tokenizer cannot be used: %w", err)
	}
	if t.VocabSize() > len(v.tokens) {
		return nil, nil, fmt.Errorf("the key tokenizer.huggingface.json has %d tokens, and tokenizer.ggml.tokens %d; "+
			"convert the model again", t.VocabSize(), len(v.tokens))
	}
	conf, err = encode(settings)
	return tok, conf, err
}

// readVocabulary reads the tokens, which must differ from each other.
func readVocabulary(m gguf.Metadata) (vocabulary, error) {
	v := vocabulary{m: m}
	var errs [3]error
	v.tokens, _, errs[0] = m.Texts("tokenizer.ggml.tokens")
	v.types, _, errs[1] = m.Ints("tokenizer.ggml.token_type")
	v.kind, _, errs[2] = m.Text("tokenizer.ggml.model")
	if err := errors.Join(errs[:]...); err != nil {
		return v, err
	}
	if v.types != nil && len(v.types) != len(v.tokens) {
		return v, fmt.Errorf("tokenizer.ggml.token_type has %d entries for %d tokens; convert the model again",
			len(v.types), len(v.tokens))
	}
	v.ids = make(map[string]int, len(v.tokens))
	for id, s := range v.tokens {
		if !utf8.ValidString(s) {
			return v, fmt.Errorf("token %d, %.40q, is not UTF-8; convert the model again", id, s)
		}
		if other, twice := v.ids[s]; twice {
			return v, fmt.Errorf("token %.40q is there twice, at %d and %d; convert the model again", s, other, id)
		}
		v.ids[s] = id
	}
	v.findTurns()
	return v, nil
}

// kindOf is the type of a token.
func (v vocabulary) kindOf(id int) int64 {
	switch {
	case v.turns[id]:
		return tokenControl
	case v.types == nil:
		return tokenNormal
	}
	return v.types[id]
}

// cut reports whether a token is cut out of a text before anything else.
func (v vocabulary) cut(id int) bool {
	kind := v.kindOf(id)
	return kind == tokenUnknown || kind == tokenControl || kind == tokenUser
}

// tokenizer is tokenizer.json, made of the tokens, merges or scores, and the rules that the file names.
func (v vocabulary) tokenizer() ([]byte, error) {
	tok := map[string]any{"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": v.added()}
	var err error
	switch v.kind {
	case byteLevel:
		err = v.byteLevel(tok)
	case sentencePiece:
		err = v.sentencePiece(tok)
	default:
		err = fmt.Errorf("tokenizer.ggml.model is %q, which is not supported; supported are gpt2 (byte-level BPE) and "+
			"llama (SentencePiece); choose a model with one of these", v.kind)
	}
	if err != nil {
		return nil, err
	}
	if tok["post_processor"], err = v.post(); err != nil {
		return nil, err
	}
	return encode(tok)
}

// added lists the tokens that are cut out of a text before anything else.
func (v vocabulary) added() []map[string]any {
	list := []map[string]any{}
	for id, text := range v.tokens {
		if v.cut(id) {
			list = append(list, map[string]any{"id": id, "content": text, "single_word": false, "lstrip": false,
				"rstrip": false, "normalized": false, "special": v.kindOf(id) != tokenUser})
		}
	}
	return list
}

// bpe is the "model" of tokenizer.json.
func (v vocabulary) bpe(merges [][2]string, unknown any, characters, ignoreMerges bool) map[string]any {
	return map[string]any{"type": "BPE", "dropout": nil, "unk_token": unknown, "continuing_subword_prefix": nil,
		"end_of_word_suffix": nil, "fuse_unk": characters, "byte_fallback": characters, "ignore_merges": ignoreMerges,
		"vocab": v.ids, "merges": merges}
}

// encode writes JSON that people can read.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}
