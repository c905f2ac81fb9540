package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxID bounds token ids, so that a damaged file cannot ask for a huge table.
const maxID = 1 << 24

// file is the part of tokenizer.json that is read here.
type file struct {
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       *decoderPart    `json:"decoder"`
	Model         modelPart       `json:"model"`
}

// addedToken is an entry of added_tokens; the flags are those of Hugging Face.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// modelPart is the "model" section. Its type is absent in old files, which are BPE.
type modelPart struct {
	Type         string           `json:"type"`
	Vocab        json.RawMessage  `json:"vocab"`
	Merges       []merge          `json:"merges"`
	UnkToken     *string          `json:"unk_token"`
	Prefix       *string          `json:"continuing_subword_prefix"`
	Suffix       *string          `json:"end_of_word_suffix"`
	FuseUnk      bool             `json:"fuse_unk"`
	ByteFallback bool             `json:"byte_fallback"`
	IgnoreMerges bool             `json:"ignore_merges"`
	vocab        map[string]int32 // Vocab decoded, once the type is known
}

// merge is one merge rule, written "a b" or ["a","b"].
type merge struct{ left, right string }

// UnmarshalJSON reads either spelling of a merge rule.
func (m *merge) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var pair []string
		if err := json.Unmarshal(data, &pair); err != nil {
			return err
		}
		if len(pair) != 2 {
			return fmt.Errorf("merge of %d parts, want 2", len(pair))
		}
		m.left, m.right = pair[0], pair[1]
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	left, right, ok := strings.Cut(s, " ")
	if !ok {
		return fmt.Errorf("merge %q has no space between its two parts", s)
	}
	m.left, m.right = left, right
	return nil
}

// decoderPart is the "decoder" section; only its type matters.
type decoderPart struct {
	Type     string        `json:"type"`
	Decoders []decoderPart `json:"decoders"`
}

func (d *decoderPart) byteLevel() bool {
	if d == nil || d.Type == "ByteLevel" {
		return true
	}
	for i := range d.Decoders {
		if d.Decoders[i].byteLevel() {
			return true
		}
	}
	return false
}

// Parse reads the contents of a tokenizer.json. It refuses by name what is not
// a byte-level BPE, and every part it would have to guess at.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("tokenizer: not a tokenizer.json: %w", err)
	}
	if err := f.Model.check(); err != nil {
		return nil, err
	}
	if !f.Decoder.byteLevel() {
		return nil, fmt.Errorf("tokenizer: decoder %q is not supported, only ByteLevel is", f.Decoder.Type)
	}
	t := &Tokenizer{}
	var err error
	if t.normalize, err = parseNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if t.splitters, err = parsePreTokenizer(f.PreTokenizer); err != nil {
		return nil, err
	}
	if t.model, err = newBPE(&f.Model); err != nil {
		return nil, err
	}
	if err := t.fill(&f); err != nil {
		return nil, err
	}
	if t.prefix, t.suffix, err = parsePostProcessor(f.PostProcessor, t.ids); err != nil {
		return nil, err
	}
	t.work.New = func() any { return newWorkspace() }
	return t, nil
}

// check refuses other models by name and decodes the vocabulary.
func (m *modelPart) check() error {
	switch {
	case m.Type != "" && m.Type != "BPE":
		return fmt.Errorf("tokenizer: model type %q is not supported, only byte-level BPE is", m.Type)
	case m.Prefix != nil && *m.Prefix != "":
		return fmt.Errorf("tokenizer: continuing_subword_prefix %q is not supported in a byte-level BPE", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return fmt.Errorf("tokenizer: end_of_word_suffix %q is not supported in a byte-level BPE", *m.Suffix)
	case len(m.Vocab) == 0:
		return fmt.Errorf("tokenizer: the model has no vocab")
	}
	if err := json.Unmarshal(m.Vocab, &m.vocab); err != nil {
		return fmt.Errorf("tokenizer: vocab of the BPE model: %w", err)
	}
	return nil
}

// fill makes the tables of tokens and the matchers of added tokens. A
// normalised added token is found, and decodes, in its normalised spelling.
func (t *Tokenizer) fill(f *file) error {
	t.ids = make(map[string]int32, len(f.Model.vocab)+len(f.AddedTokens))
	for name, id := range f.Model.vocab {
		if err := t.add(name, id, false); err != nil {
			return err
		}
	}
	for i := range f.AddedTokens {
		a := &f.AddedTokens[i]
		text := a.Content
		if a.Normalized && t.normalize != nil {
			text = t.normalize(text)
		}
		if err := t.add(text, a.ID, a.Special); err != nil {
			return err
		}
		t.ids[a.Content] = a.ID
		if a.Normalized {
			t.norm.add(text, a)
		} else {
			t.raw.add(text, a)
		}
	}
	return nil
}

func (t *Tokenizer) add(name string, id int32, special bool) error {
	if id < 0 || id >= maxID {
		return fmt.Errorf("tokenizer: token %q has id %d, outside 0..%d", name, id, maxID-1)
	}
	if n := int(id) + 1; n > len(t.tokens) {
		t.tokens = append(t.tokens, make([]entry, n-len(t.tokens))...)
	}
	t.ids[name] = id
	t.tokens[id] = entry{name: name, bytes: bytesOf(name), special: special, known: true}
	return nil
}
