package modelfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// The types of tokens in tokenizer.ggml.token_type.
const (
	tokenNormal  = 1
	tokenUnknown = 2
	tokenControl = 3
	tokenUser    = 4
	tokenUnused  = 5
	tokenByte    = 6
)

// vocabulary is the tokenizer's part of the metadata.
type vocabulary struct {
	model       string // gpt2: merges of bytes; llama: of characters, by scores
	pre         string
	tokens      []string
	types       []int32
	merges      []string  // of gpt2
	scores      []float32 // of llama
	spacePrefix bool      // of llama: a space is put in front
	special     []gguf.Pair
	stops       []string
}

// tokenizerFile is the part of tokenizer.json that is read.
type tokenizerFile struct {
	Added        []addedToken    `json:"added_tokens"`
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	Model        struct {
		Vocab        map[string]int `json:"vocab"`
		Merges       []merge        `json:"merges"`
		Unknown      *string        `json:"unk_token"`
		ByteFallback bool           `json:"byte_fallback"`
		IgnoreMerges bool           `json:"ignore_merges"`
	} `json:"model"`
}

// addedToken is a token that is cut out of a text before anything else.
type addedToken struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

// merge is two parts that become one token: a list of two, or a text with a space between in older files.
type merge [2]string

func (m *merge) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var parts []string
		if err := json.Unmarshal(data, &parts); err != nil || len(parts) != 2 {
			return errors.Join(err, fmt.Errorf("a merge has %d parts", len(parts)))
		}
		m[0], m[1] = parts[0], parts[1]
		return nil
	}
	var text string
	err := json.Unmarshal(data, &text)
	var ok bool
	if m[0], m[1], ok = strings.Cut(text, " "); err == nil && !ok {
		err = fmt.Errorf("the merge %q has no space", text)
	}
	return err
}

// readVocabulary reads the tokenizer of a model folder, for an embedding of so many rows. A template that is not empty
// replaces the folder's.
func readVocabulary(dir, template string, rows int, ends []int32) (*vocabulary, error) {
	tok, err := tokenizer.Load(dir) // refuses files that would be tokenised differently
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "tokenizer.json")
	data, err := disk.ReadFile(path, disk.BigFile)
	if err != nil {
		return nil, err
	}
	var file tokenizerFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	v := &vocabulary{}
	if err := v.read(&file, rows); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	conf, err := tokenizer.LoadConfig(dir)
	if err != nil {
		return nil, err
	}
	if template != "" && template != conf.ChatTemplate {
		conf.ChatTemplate, conf.Templates = template, nil // one for all conversations
	}
	if err := v.readSpecial(tok, conf, ends); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return v, nil
}

// read reads tokens, types, and merges or scores.
func (v *vocabulary) read(file *tokenizerFile, rows int) error {
	var pre preTokenizer
	var norm normalizer
	_, err := section(file.PreTokenizer, "pre_tokenizer", &pre)
	_, errNorm := section(file.Normalizer, "normalizer", &norm)
	if err := errors.Join(err, errNorm); err != nil {
		return err
	}
	if !pre.byteLevel() {
		file.cut(rows)
	}
	if err := v.fill(file, rows); err != nil {
		return err
	}
	if pre.byteLevel() {
		return v.byteLevel(file, pre, norm)
	}
	return v.pieces(file, pre, norm)
}

// fill makes one token for each row: the file's, and [PADi] for the others.
func (v *vocabulary) fill(file *tokenizerFile, rows int) error {
	v.tokens, v.types = make([]string, rows), make([]int32, rows)
	taken := make(map[string]int, rows)
	put := func(text string, id int, kind int32) error {
		if id < 0 || id >= rows {
			return fmt.Errorf("token %q has id %d, and the embedding has %d rows; the tokenizer is of another model",
				text, id, rows)
		}
		if text == "" {
			text = fmt.Sprintf("[EMPTY_%d]", id)
		}
		if at, twice := taken[text]; twice && at != id {
			return fmt.Errorf("token %q is there twice, at %d and %d, which llama.cpp refuses", text, at, id)
		}
		delete(taken, v.tokens[id])
		taken[text], v.tokens[id], v.types[id] = id, text, kind
		return nil
	}
	for text, id := range file.Model.Vocab {
		if id >= 0 && id < rows && v.types[id] != 0 {
			return fmt.Errorf("tokens %q and %q have the same id, %d", v.tokens[id], text, id)
		}
		if err := put(text, id, v.typeOf(text, file)); err != nil {
			return err
		}
	}
	for _, a := range file.Added {
		kind := int32(tokenUser)
		switch {
		case file.Model.Unknown != nil && a.Content == *file.Model.Unknown:
			kind = tokenUnknown
		case a.Special || looksSpecial(a.Content):
			kind = tokenControl
		}
		if err := put(a.Content, a.ID, kind); err != nil {
			return err
		}
	}
	for id := range v.tokens {
		if v.types[id] == 0 {
			text := fmt.Sprintf("[PAD%d]", id)
			for _, there := taken[text]; there; _, there = taken[text] {
				text += "~"
			}
			if err := put(text, id, tokenUnused); err != nil {
				return err
			}
		}
	}
	return nil
}

// typeOf is the type of a token of the model's vocabulary.
func (v *vocabulary) typeOf(text string, file *tokenizerFile) int32 {
	switch {
	case file.Model.Unknown != nil && text == *file.Model.Unknown:
		return tokenUnknown
	case file.Model.ByteFallback && isByte(text):
		return tokenByte
	}
	return tokenNormal
}

// looksSpecial is llama.cpp's rule for tokens that are not marked as special but are (does_token_look_special).
func looksSpecial(text string) bool {
	switch text {
	case "<pad>", "<mask>", "<2mass>", "[@BOS@]":
		return true
	}
	return strings.HasPrefix(text, "<|") && strings.HasSuffix(text, "|>") ||
		strings.HasPrefix(text, "<｜") && strings.HasSuffix(text, "｜>") ||
		strings.HasPrefix(text, "<unused") && strings.HasSuffix(text, ">")
}

// byteLevel adds what a byte-level BPE has.
func (v *vocabulary) byteLevel(file *tokenizerFile, pre preTokenizer, norm normalizer) (err error) {
	// llama.cpp has no NFC; text that is not composed comes out in other tokens there, with the published files too
	if n := norm.key(); n != "" && n != "NFC" {
		return fmt.Errorf("the normalizer %q cannot be written as GGUF; write a Hugging Face folder, without --gguf", n)
	}
	if file.Model.ByteFallback || file.Model.Unknown != nil && *file.Model.Unknown != "" {
		return errors.New("byte_fallback or unk_token of a byte-level tokenizer cannot be written as GGUF; " +
			"write a Hugging Face folder, without --gguf")
	}
	v.model = "gpt2"
	v.pre, err = findPre(pre, file.Model.IgnoreMerges)
	for _, m := range file.Model.Merges {
		v.merges = append(v.merges, strings.ReplaceAll(m[0], " ", "Ġ")+" "+strings.ReplaceAll(m[1], " ", "Ġ"))
	}
	return err
}

// pairs is the metadata.
func (v *vocabulary) pairs() []gguf.Pair {
	list := []gguf.Pair{{Key: "tokenizer.ggml.model", Value: v.model}, {Key: "tokenizer.ggml.pre", Value: v.pre},
		{Key: "tokenizer.ggml.tokens", Value: v.tokens}, {Key: "tokenizer.ggml.token_type", Value: v.types}}
	if v.model == "llama" {
		list = append(list, gguf.Pair{Key: "tokenizer.ggml.scores", Value: v.scores},
			gguf.Pair{Key: "tokenizer.ggml.add_space_prefix", Value: v.spacePrefix})
	} else {
		list = append(list, gguf.Pair{Key: "tokenizer.ggml.merges", Value: v.merges})
	}
	return append(list, v.special...)
}
