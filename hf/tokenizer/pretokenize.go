package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/charclass"
)

// cutter cuts a piece of text into smaller pieces, appended to out.
type cutter func(out []string, s string) []string

// scanner returns the length of the word at the start of s, which is not empty.
type scanner func(s string) int

// splitter is one step of a pre-tokenizer: a scanner where there is one, else
// a cutter. The words of a scanner need no list.
type splitter struct {
	next scanner
	cut  cutter
}

func (p splitter) split(out []string, s string) []string {
	if p.next == nil {
		return p.cut(out, s)
	}
	for len(s) > 0 {
		n := p.next(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// preTokenizerPart is a "pre_tokenizer" section.
type preTokenizerPart struct {
	Type             string             `json:"type"`
	PreTokenizers    []preTokenizerPart `json:"pretokenizers"`
	AddPrefixSpace   *bool              `json:"add_prefix_space"`
	UseRegex         *bool              `json:"use_regex"`
	Pattern          patternPart        `json:"pattern"`
	Behavior         string             `json:"behavior"`
	Invert           bool               `json:"invert"`
	IndividualDigits bool               `json:"individual_digits"`
}

// parsePreTokenizer reads a "pre_tokenizer" section, which must hold a
// ByteLevel. Splitters after the ByteLevel see text in the byte alphabet.
func parsePreTokenizer(data json.RawMessage) ([]splitter, error) {
	if absent(data) {
		return nil, fmt.Errorf("tokenizer: no pre_tokenizer: only byte-level BPE is supported")
	}
	var p preTokenizerPart
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("tokenizer: pre_tokenizer: %w", err)
	}
	var all []splitter
	spelled := false
	flat, err := p.flat(nil, &parts{section: "pre_tokenizer"}, 0)
	if err != nil {
		return nil, err
	}
	for _, part := range flat {
		if part.Type == "ByteLevel" {
			if spelled {
				return nil, fmt.Errorf("tokenizer: pre_tokenizer has two ByteLevel parts")
			}
			spelled = true
			all = append(all, byteLevel(part)...)
			continue
		}
		s, err := part.splitter()
		if err != nil {
			return nil, err
		}
		if spelled {
			s = onSpelling(s)
		}
		all = append(all, s)
	}
	if !spelled {
		return nil, fmt.Errorf("tokenizer: pre_tokenizer %q has no ByteLevel: only byte-level BPE is supported", p.Type)
	}
	return all, nil
}

// charSplitters reads a "pre_tokenizer" section of a model of characters: parts that split, and no ByteLevel.
func charSplitters(data json.RawMessage) (all []splitter, err error) {
	var p preTokenizerPart
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("tokenizer: pre_tokenizer: %w", err)
	}
	flat, err := p.flat(nil, &parts{section: "pre_tokenizer"}, 0)
	if err != nil {
		return nil, err
	}
	for _, part := range flat {
		s, err := part.splitter()
		if err != nil {
			return nil, fmt.Errorf("%w beside the decoder ByteFallback", err)
		}
		all = append(all, s)
	}
	return all, nil
}

// flat lists the parts of nested Sequences in order.
func (p preTokenizerPart) flat(out []preTokenizerPart, count *parts, depth int) ([]preTokenizerPart, error) {
	if err := count.deeper(depth); err != nil {
		return nil, err
	}
	if p.Type != "Sequence" {
		return append(out, p), nil
	}
	for _, part := range p.PreTokenizers {
		var err error
		if out, err = part.flat(out, count, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p preTokenizerPart) splitter() (splitter, error) {
	switch p.Type {
	case "Split":
		return parseSplit(p)
	case "Digits":
		if p.IndividualDigits {
			return runes(in(charclass.Numeric), "Isolated")
		}
		return runes(in(charclass.Numeric), "Contiguous")
	case "Punctuation":
		return runes(in(charclass.Punctuation), p.Behavior)
	case "WhitespaceSplit":
		return runes(unicode.IsSpace, "Removed")
	case "Whitespace":
		word := `[\w\u200C\u200D]+|[^\w\s\u200C\u200D]+` // \w+|[^\w\s]+ in Rust, which has joiners in \w
		return parseSplit(preTokenizerPart{Pattern: patternPart{Regex: &word}, Behavior: "Removed", Invert: true})
	}
	return splitter{}, fmt.Errorf("tokenizer: pre_tokenizer %q is not supported", p.Type)
}

// byteLevel makes the splitters of a ByteLevel part: a space put in front of
// each piece, and GPT-2's pattern. Both are on unless the file says otherwise.
func byteLevel(p preTokenizerPart) (all []splitter) {
	if p.AddPrefixSpace == nil || *p.AddPrefixSpace {
		all = append(all, splitter{cut: func(out []string, s string) []string {
			if s != "" && s[0] != ' ' {
				s = " " + s
			}
			return append(out, s)
		}})
	}
	if p.UseRegex == nil || *p.UseRegex {
		all = append(all, splitter{next: newClasses().nextGPT2})
	}
	return all
}

// onSpelling lets inner work on the spelling of a piece in the byte alphabet,
// where each character is one byte of the piece.
func onSpelling(inner splitter) splitter {
	return splitter{cut: func(out []string, s string) []string {
		for _, part := range inner.split(nil, spell(s)) {
			n := utf8.RuneCountInString(part)
			out = append(out, s[:n])
			s = s[n:]
		}
		return out
	}}
}

// in tells whether a character is in a class.
func in(class string) func(rune) bool {
	table := charclass.Table(class)
	return func(r rune) bool { return unicode.Is(table, r) }
}
