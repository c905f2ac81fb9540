package tokenizer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// marker stands for a space in vocabularies that come from SentencePiece.
const marker = "▁"

// sentencePiece handles files converted from SentencePiece, such as Llama 2's,
// Mistral 7B's and Gemma's: their BPE merges characters, not bytes; one that
// the vocabulary lacks becomes the <0xNN> tokens of its bytes; spaces are
// written as marker.
type sentencePiece struct {
	strip int // spaces taken from the front of a decoded text

	// Of a Metaspace, which replaces spaces; without one the normalizer does.
	metaspace bool
	prepend   string // whether marker is put in front: always, first (of the text) or never
}

// pieces reads a decoder that undoes marker and the <0xNN> tokens, nil for
// any other.
func (d *decoderPart) pieces() *sentencePiece {
	if d == nil || d.Type != "Sequence" || len(d.Decoders) < 3 || len(d.Decoders) > 4 {
		return nil
	}
	replace, p := d.Decoders[0], &sentencePiece{}
	if replace.Type != "Replace" || replace.Pattern.String == nil || *replace.Pattern.String != marker ||
		replace.Text != " " || d.Decoders[1].Type != "ByteFallback" || d.Decoders[2].Type != "Fuse" {
		return nil
	}
	if len(d.Decoders) == 4 {
		strip := d.Decoders[3]
		if strip.Type != "Strip" || strip.Text != " " || strip.Stop != 0 {
			return nil
		}
		p.strip = strip.Start
	}
	return p
}

// metaspacePart is a "pre_tokenizer" section of type Metaspace.
type metaspacePart struct {
	Type        string `json:"type"`
	Replacement string `json:"replacement"`
	Prepend     string `json:"prepend_scheme"`
	PrefixSpace *bool  `json:"add_prefix_space"` // of older files
	Split       *bool  `json:"split"`
}

// preTokenizer reads a "pre_tokenizer" section: none, a Metaspace, or parts that
// split, such as Gemma's Split.
func (p *sentencePiece) preTokenizer(data json.RawMessage) ([]splitter, error) {
	if absent(data) {
		return nil, nil
	}
	var m metaspacePart
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("tokenizer: pre_tokenizer: %w", err)
	}
	if m.Type != "Metaspace" {
		return charSplitters(data)
	}
	if m.Replacement != marker {
		return nil, fmt.Errorf("tokenizer: Metaspace with the replacement %q is not supported; with %s it is",
			m.Replacement, marker)
	}
	p.metaspace = true
	switch p.prepend = m.Prepend; {
	case m.PrefixSpace != nil && !*m.PrefixSpace:
		p.prepend = "never"
	case p.prepend == "":
		p.prepend = "always"
	case p.prepend != "always" && p.prepend != "first" && p.prepend != "never":
		return nil, fmt.Errorf("tokenizer: Metaspace prepend_scheme %q is not known", p.prepend)
	}
	if m.Split != nil && !*m.Split {
		return nil, nil
	}
	return []splitter{{next: nextMarked}}, nil
}

// spell writes a text, of which start tells whether it begins the whole, as a
// Metaspace does.
func (p *sentencePiece) spell(s string, start bool) string {
	if !p.metaspace {
		return s
	}
	s = strings.ReplaceAll(s, " ", marker)
	if (p.prepend == "always" || p.prepend == "first" && start) && !strings.HasPrefix(s, marker) {
		s = marker + s
	}
	return s
}

// nextMarked scans a word, which ends before the next marker.
func nextMarked(s string) int {
	if i := strings.Index(s[1:], marker); i >= 0 {
		return i + 1
	}
	return len(s)
}

// byteToken returns the byte of a <0xNN> token.
func byteToken(name string) (b byte, ok bool) {
	if len(name) != 6 || name[:3] != "<0x" || name[5] != '>' {
		return 0, false
	}
	n, err := strconv.ParseUint(name[3:5], 16, 8)
	return byte(n), err == nil
}

// entry is the entry of a token's name.
func (p *sentencePiece) entry(name string) entry {
	if b, ok := byteToken(name); ok {
		return entry{name: name, bytes: string([]byte{b}), raw: true, known: true}
	}
	return entry{name: name, bytes: strings.ReplaceAll(name, marker, " "), known: true}
}

// runText is the text of a run of <0xNN> tokens: all or none of it is UTF-8.
func runText(run []byte) string {
	if utf8.Valid(run) {
		return string(run)
	}
	return strings.Repeat("\ufffd", len(run))
}

// front takes away the spaces that are stripped from the front of a text.
func (p *sentencePiece) front(s string) string {
	for i := 0; i < p.strip && strings.HasPrefix(s, " "); i++ {
		s = s[1:]
	}
	return s
}

// writePiece is Decoder.Write. A run of bytes is held back until it ends.
func (d *Decoder) writePiece(e entry) string {
	if e.raw {
		d.held = append(d.held, e.bytes...)
		return ""
	}
	text := runText(d.held) + e.bytes
	d.held = d.held[:0]
	return d.begin(text)
}

// begin strips what begins a text.
func (d *Decoder) begin(text string) string {
	if !d.begun && text != "" {
		d.begun = true
		return d.t.pieces.front(text)
	}
	return text
}
