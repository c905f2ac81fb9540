package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// file is the part of tokenizer.json that is read here.
type file struct {
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       *decoderPart    `json:"decoder"`
	Model         modelPart       `json:"model"`
}

// addedToken is an entry of added_tokens; the flags are Hugging Face's.
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
	Type         string  `json:"type"`
	UnkToken     *string `json:"unk_token"`
	Prefix       *string `json:"continuing_subword_prefix"`
	Suffix       *string `json:"end_of_word_suffix"`
	FuseUnk      bool    `json:"fuse_unk"`
	ByteFallback bool    `json:"byte_fallback"`
	IgnoreMerges bool    `json:"ignore_merges"`

	tokens []named          // the vocab in the order of the file
	vocab  map[string]int32 // the same, by name
	other  []byte           // the vocab of another kind of model
	rules  rules            // made of merges
}

// decoderPart is the "decoder" section.
type decoderPart struct {
	Type     string        `json:"type"`
	Decoders []decoderPart `json:"decoders"`
	Pattern  patternPart   `json:"pattern"` // of Replace
	Text     string        `json:"content"` // of Replace and Strip
	Start    int           `json:"start"`   // of Strip
	Stop     int           `json:"stop"`
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
	f, err := readFile(data)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{maxIDs: maxIDs(len(f.Model.tokens) + len(f.AddedTokens))}
	if !f.Decoder.byteLevel() {
		if t.pieces = f.Decoder.pieces(); t.pieces == nil {
			return nil, fmt.Errorf("tokenizer: decoder %q is not supported; ByteLevel is, and Replace, ByteFallback, "+
				"Fuse and Strip in this order", f.Decoder.Type)
		}
	}
	if t.normalize, err = parseNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if t.pieces != nil {
		t.splitters, err = t.pieces.preTokenizer(f.PreTokenizer)
	} else {
		t.splitters, err = parsePreTokenizer(f.PreTokenizer)
	}
	if err != nil {
		return nil, err
	}
	if err := t.fillVocab(&f.Model); err != nil {
		return nil, err
	}
	if t.pieces != nil {
		t.model, err = newCharBPE(&f.Model)
		t.splitters = append(t.splitters, splitter{next: newSeams(&f.Model, t.tokens).next})
	} else {
		t.model = newBPE(&f.Model, t.tokens)
	}
	if err != nil {
		return nil, err
	}
	if err := t.fillAdded(f.AddedTokens); err != nil {
		return nil, err
	}
	if t.prefix, t.suffix, err = parsePostProcessor(f.PostProcessor, t.ids); err != nil {
		return nil, err
	}
	t.work.New = func() any { return newWorkspace() }
	return t, nil
}

// readFile reads the parts of a tokenizer.json and the vocabulary.
func readFile(data []byte) (*file, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("tokenizer: not a tokenizer.json: it is not UTF-8")
	}
	f := &file{}
	c := &cursor{data: data}
	var model []byte
	var fault error
	rest := c.cut(map[string]func(){"model": func() { model, fault = f.Model.scan(c) }})
	if fault == nil {
		fault = c.end()
	}
	if fault != nil {
		return nil, fmt.Errorf("tokenizer: not a tokenizer.json: %w", fault)
	}
	if err := json.Unmarshal(rest, f); err != nil {
		return nil, fmt.Errorf("tokenizer: not a tokenizer.json: %w", err)
	}
	if absent(model) {
		return nil, fmt.Errorf("tokenizer: not a tokenizer.json: it has no model")
	}
	if err := json.Unmarshal(model, &f.Model); err != nil {
		return nil, fmt.Errorf("tokenizer: the model: %w", err)
	}
	return f, f.Model.check()
}

// scan takes the model: vocab and merges into their tables, in one pass where
// the vocab comes first, as in all known files. The rest is the result.
func (m *modelPart) scan(c *cursor) (rest []byte, err error) {
	if c.peek() != '{' {
		return c.value(), nil
	}
	var merges []byte // that come too early
	rest = c.cut(map[string]func(){
		"vocab": func() {
			if c.peek() != '{' {
				m.other = c.value()
				return
			}
			if m.tokens = c.vocab(); c.err != nil {
				err = fmt.Errorf("vocab of the BPE model: %w", c.err)
			}
			m.vocab = make(map[string]int32, len(m.tokens))
			for _, t := range m.tokens {
				m.vocab[t.name] = t.id
			}
		},
		"merges": func() {
			if m.vocab == nil || c.peek() != '[' {
				merges = c.value()
			} else {
				err = m.fillRules(c)
			}
		},
	})
	if err == nil && m.vocab != nil && !absent(merges) {
		err = m.fillRules(&cursor{data: merges})
	}
	return rest, err
}

// check refuses other models by name.
func (m *modelPart) check() error {
	switch {
	case m.Type != "" && m.Type != "BPE":
		return fmt.Errorf("tokenizer: model type %q is not supported, only byte-level BPE is", m.Type)
	case m.Prefix != nil && *m.Prefix != "":
		return fmt.Errorf("tokenizer: continuing_subword_prefix %q is not supported in a byte-level BPE", *m.Prefix)
	case m.Suffix != nil && *m.Suffix != "":
		return fmt.Errorf("tokenizer: end_of_word_suffix %q is not supported in a byte-level BPE", *m.Suffix)
	case m.vocab == nil:
		return fmt.Errorf("tokenizer: the model has no vocab")
	}
	return nil
}

// fillVocab makes the tables of the vocabulary, whose map it takes over.
func (t *Tokenizer) fillVocab(m *modelPart) error {
	t.ids = m.vocab
	t.tokens = make([]entry, 0, len(m.tokens)+1024) // with room for added tokens
	for _, n := range m.tokens {
		if err := t.add(n.name, n.id, false); err != nil {
			return err
		}
	}
	return nil
}

// fillAdded adds the added tokens and makes their matchers. A normalised added
// token is found, and decodes, in its normalised spelling.
func (t *Tokenizer) fillAdded(added []addedToken) error {
	total := 0
	for i := range added {
		a := &added[i]
		if total += len(a.Content); len(a.Content) > maxAdded || total > maxTrie {
			return fmt.Errorf("tokenizer: added token %.40q… is longer than %d bytes, or all together than %d",
				a.Content, maxAdded, maxTrie)
		}
		text := a.Content
		if a.Normalized && t.normalize != nil {
			text = t.normalize(text)
		}
		if err := t.add(text, a.ID, a.Special); err != nil {
			return err
		}
		t.ids[text], t.ids[a.Content] = a.ID, a.ID
		if a.Normalized {
			t.norm.add(text, a)
		} else {
			t.raw.add(text, a)
		}
	}
	return nil
}

// add sets the entry of a token.
func (t *Tokenizer) add(name string, id int32, special bool) error {
	if id < 0 || int(id) >= t.maxIDs {
		return fmt.Errorf("tokenizer: token %q has id %d, outside 0..%d", name, id, t.maxIDs-1)
	}
	if n := int(id) + 1; n > len(t.tokens) {
		t.tokens = append(t.tokens, make([]entry, n-len(t.tokens))...)
	}
	if t.pieces != nil {
		t.tokens[id] = t.pieces.entry(name)
		t.tokens[id].special = special
	} else {
		t.tokens[id] = entry{name: name, bytes: bytesOf(name), special: special, known: true}
	}
	t.longest = max(t.longest, 1, len(t.tokens[id].bytes))
	return nil
}
