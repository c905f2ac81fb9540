package modelfile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The patterns of words, as the models' own tokenizer.json have them.
const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	spaces       = `\s*[\r\n]+|\s+(?!\S)|\s+`
	upper        = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lower        = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`

	wordsLlama3 = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	wordsQwen2  = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` + spaces
	wordsQwen35 = contractions + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + spaces
	wordsGPT4o  = upper + `*` + lower + `+` + contractions + `?|` + upper + `+` + lower + `*` + contractions +
		`?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaces
	wordsTekken = upper + `*` + lower + `+|` + upper + `+` + lower + `*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|` + spaces
)

// way is how a byte-level tokenizer cuts a text into words, in the notation of preTokenizer.key.
type way struct {
	cut          string
	ignoreMerges bool
}

// preNames are llama.cpp's names of the ways (llama-vocab.cpp), for tokenizer.ggml.pre. Where several names stand for
// one way, it is the first of them.
func preNames() map[way]string {
	split := func(words string) string { return "Split(" + words + ") ByteLevel" }
	return map[way]string{
		{cut: "ByteLevel(words)"}:                     "gpt-2",
		{cut: "Digits(single) ByteLevel(words)"}:      "smollm",
		{cut: split(wordsLlama3), ignoreMerges: true}: "llama-bpe",
		{cut: split(wordsLlama3)}:                     "smaug-bpe",
		{cut: split(wordsQwen2)}:                      "qwen2",
		{cut: split(wordsQwen35)}:                     "qwen35",
		{cut: split(wordsGPT4o)}:                      "gpt-4o",
		{cut: split(wordsTekken), ignoreMerges: true}: "tekken",
	}
}

// preTokenizer is a "pre_tokenizer" of tokenizer.json.
type preTokenizer struct {
	Type       string         `json:"type"`
	Parts      []preTokenizer `json:"pretokenizers"`
	Prefix     *bool          `json:"add_prefix_space"`
	Words      *bool          `json:"use_regex"`
	Individual bool           `json:"individual_digits"`
	Pattern    struct {
		Regex  *string
		String *string
	} `json:"pattern"`
	Behavior    string `json:"behavior"`
	Invert      bool   `json:"invert"`
	Replacement string `json:"replacement"`
	Prepend     string `json:"prepend_scheme"`
	Split       *bool  `json:"split"`
}

// byteLevel reports whether bytes are spelled as characters.
func (p preTokenizer) byteLevel() bool {
	for _, part := range p.Parts {
		if part.byteLevel() {
			return true
		}
	}
	return p.Type == "ByteLevel"
}

// key says how a text is cut.
func (p preTokenizer) key() string {
	on := func(b *bool) bool { return b == nil || *b }
	switch {
	case p.Type == "Sequence":
		parts := make([]string, len(p.Parts))
		for i, part := range p.Parts {
			parts[i] = part.key()
		}
		return strings.Join(parts, " ")
	case p.Type == "ByteLevel" && on(p.Prefix):
		return "ByteLevel with add_prefix_space"
	case p.Type == "ByteLevel" && on(p.Words):
		return "ByteLevel(words)"
	case p.Type == "ByteLevel":
		return "ByteLevel"
	case p.Type == "Digits" && p.Individual:
		return "Digits(single)"
	case p.Type == "Split" && p.Pattern.Regex != nil && p.Behavior == "Isolated" && !p.Invert:
		return "Split(" + *p.Pattern.Regex + ")"
	case p.Type == "Split":
		return "Split of another kind"
	}
	return p.Type
}

// findPre is llama.cpp's name of the way in which a byte-level tokenizer cuts a text.
func findPre(p preTokenizer, ignoreMerges bool) (string, error) {
	name, known := preNames()[way{p.key(), ignoreMerges}]
	if !known {
		return "", fmt.Errorf("the pre_tokenizer of tokenizer.json is %q with ignore_merges %v, for which "+
			"llama.cpp has no name that is known here; write a Hugging Face folder, without --gguf, and convert it "+
			"with llama.cpp's convert_hf_to_gguf.py", p.key(), ignoreMerges)
	}
	return name, nil
}

// normalizer is a "normalizer" of tokenizer.json.
type normalizer struct {
	Type    string       `json:"type"`
	Parts   []normalizer `json:"normalizers"`
	Prepend string       `json:"prepend"`
	Content string       `json:"content"`
	Pattern struct{ String string }
}

// key says what is done.
func (n normalizer) key() string {
	switch {
	case n.Type == "Sequence":
		parts := make([]string, len(n.Parts))
		for i, part := range n.Parts {
			parts[i] = part.key()
		}
		return strings.Join(parts, " ")
	case n.Type == "Prepend" && n.Prepend == marker:
		return "Prepend(" + marker + ")"
	case n.Type == "Replace" && n.Pattern.String == " " && n.Content == marker:
		return "Replace(space)"
	}
	return n.Type
}

// section reads an optional section of tokenizer.json into to; it reports whether it is there.
func section(data json.RawMessage, name string, to any) (there bool, err error) {
	if len(data) == 0 || string(data) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(data, to); err != nil {
		return false, fmt.Errorf("%s of tokenizer.json: %w", name, err)
	}
	return true, nil
}
