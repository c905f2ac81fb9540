package modelfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
)

// way is how a byte-level tokenizer cuts a text into words, in the notation of preTokenizer.key.
type way struct {
	cut          string
	ignoreMerges bool
}

// preNames are llama.cpp's names of the ways that package modeldir reads, for tokenizer.ggml.pre. If a way has several
// names, the one of the family that made it known is used, or the first.
func preNames() (map[way]string, error) {
	known := []string{"gpt-2", "smollm", "llama-bpe", "smaug-bpe", "qwen2", "qwen35", "gpt-4o", "deepseek-v3", "tekken"}
	names := map[way]string{}
	ways := modeldir.Ways()
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		raw, err := json.Marshal(ways[name].PreTokenizer)
		if err != nil {
			return nil, err
		}
		var p preTokenizer
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		w := way{p.key(), ways[name].IgnoreMerges}
		if _, there := names[w]; !there || slices.Contains(known, name) {
			names[w] = name
		}
	}
	return names, nil
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
	case p.Type == "Split" && p.Pattern.String != nil && *p.Pattern.String == " ":
		return "Split(space)"
	case p.Type == "Split":
		return "Split of another kind"
	}
	return p.Type
}

// findPre is llama.cpp's name of the way in which a byte-level tokenizer cuts a text.
func findPre(p preTokenizer, ignoreMerges bool) (string, error) {
	names, err := preNames()
	if err != nil {
		return "", err
	}
	name, known := names[way{p.key(), ignoreMerges}]
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
