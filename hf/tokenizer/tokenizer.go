// Package tokenizer reads Hugging Face tokenizer.json files that hold a BPE,
// most often a byte-level one, and turns text into token ids and back, id for id as the
// Hugging Face tokenizers library does.
//
// [Tokenizer.Encode] does the same steps as that library: added tokens are cut
// out, the text between them is normalised, split into
// words by the pre-tokenizer and merged byte by byte by the model. The split
// patterns of GPT-2, Llama 3 and Qwen2/3 are recognised by their regular
// expression and split by hand-written code; any other pattern goes through a
// regular expression engine, which is some ten times slower.
// Files converted from SentencePiece, whose BPE merges characters and falls
// back on <0xNN> tokens (Llama 2, Mistral 7B, Gemma), are read too; Unigram and
// WordPiece are refused by name.
//
// Parts of that library go by different versions of Unicode: expressions by 16, digits and lower case by 17, the normal
// forms, StripAccents and Punctuation by older ones. Package internal/charclass has them all, from the library itself
// (0.23.3). Only (?i:…) of letters that Unicode got after version 15 takes them for caseless.
//
// The package also reads tokenizer_config.json, see [Config].
package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Tokenizer maps text to token ids and back. It does not change after it was
// loaded, and any number of goroutines may use it at once.
type Tokenizer struct {
	tokens []entry          // by id
	ids    map[string]int32 // by the token's spelling in the file

	raw       matcher // added tokens looked for in the text as given
	norm      matcher // added tokens looked for in the normalised text
	normalize normalizer
	splitters []splitter
	model     *bpe
	pieces    *sentencePiece // nil for a byte-level file
	maxIDs    int            // while the file is read
	longest   int            // bytes of a token

	prefix, suffix []int32 // the post-processor's tokens around a text

	work sync.Pool // of *workspace
}

// entry is one token: its spelling in tokenizer.json and the bytes it stands for.
type entry struct {
	name    string
	bytes   string
	special bool
	known   bool // false for an id that the file leaves out
	raw     bool // a <0xNN> token of pieces
}

// Load reads tokenizer.json, given the path of the file or of its folder.
func Load(path string) (*Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
	}
	data, err := disk.ReadFile(path, disk.BigFile)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return t, nil
}

// VocabSize returns the largest id plus one, added tokens included. Some ids
// below it may stand for no token.
func (t *Tokenizer) VocabSize() int { return len(t.tokens) }

// Longest returns the bytes of the longest token: a text of n bytes has at
// least n / Longest tokens, unless the file drops characters.
func (t *Tokenizer) Longest() int { return t.longest }

// TokenID returns the id of the token spelled name in tokenizer.json, where a
// space inside an ordinary token is written Ġ and added tokens are plain text.
func (t *Tokenizer) TokenID(name string) (int32, bool) {
	id, ok := t.ids[name]
	return id, ok
}

// Token returns the spelling of a token in tokenizer.json, or "" when id is
// not a token.
func (t *Tokenizer) Token(id int32) string {
	return t.at(id).name
}

// Bytes returns the bytes a token stands for, which need not be whole UTF-8
// characters, or nil when id is not a token. The result is the caller's.
func (t *Tokenizer) Bytes(id int32) []byte {
	e := t.at(id)
	if !e.known {
		return nil
	}
	return []byte(e.bytes)
}

// Size returns the number of bytes that a token stands for.
func (t *Tokenizer) Size(id int32) int { return len(t.at(id).bytes) }

// IsSpecial reports whether id is an added token that the file marks special.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return t.at(id).special
}

func (t *Tokenizer) at(id int32) entry {
	if id < 0 || int(id) >= len(t.tokens) {
		return entry{}
	}
	return t.tokens[id]
}
