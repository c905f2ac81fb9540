package modeldir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// byteLevel adds what a byte-level BPE needs to a tokenizer.json.
func (v vocabulary) byteLevel(tok map[string]any) error {
	merges, err := v.merges()
	if err != nil {
		return err
	}
	name, _, err := v.m.Text("tokenizer.ggml.pre")
	if err != nil {
		return err
	}
	p, known := preTokenizers()[name]
	if !known {
		said := fmt.Sprintf("tokenizer.ggml.pre is %q, which is not supported", name)
		if name == "" || name == "default" {
			said = "the file does not say how its tokenizer cuts words (tokenizer.ggml.pre), as files from before " +
				"May 2024 do not"
		}
		return fmt.Errorf("%s; download a newer file of the model, or use its Hugging Face folder; supported are %s",
			said, strings.Join(slices.Sorted(maps.Keys(preTokenizers())), ", "))
	}
	tok["normalizer"], tok["pre_tokenizer"] = nil, p.json()
	tok["decoder"] = map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
		"use_regex": true}
	tok["model"] = v.bpe(merges, nil, false, p.ignoreMerges)
	return nil
}

// merges reads tokenizer.ggml.merges: two parts with a space between, the first at the second character or later.
func (v vocabulary) merges() ([][2]string, error) {
	texts, _, err := v.m.Texts("tokenizer.ggml.merges")
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, len(texts))
	for i, s := range texts {
		at := -1
		if len(s) > 1 {
			at = strings.IndexByte(s[1:], ' ') + 1
		}
		if at < 1 {
			return nil, fmt.Errorf("merge %d is %.40q; it must be two parts with a space between", i, s)
		}
		merges[i] = [2]string{s[:at], s[at+1:]}
	}
	return merges, nil
}
