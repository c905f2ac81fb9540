package modeldir

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// The types of tokens in tokenizer.ggml.token_type.
const (
	tokenUnknown = 2
	tokenControl = 3
	tokenUser    = 4
)

// vocabulary is the tokenizer's part of the metadata.
type vocabulary struct {
	m      gguf.Metadata
	tokens []string
	types  []int64 // nil: all are normal
}

// tokenizerFiles are tokenizer.json and tokenizer_config.json of a file.
func tokenizerFiles(m gguf.Metadata) (tok, conf map[string]any, err error) {
	v := vocabulary{m: m}
	var errs [3]error
	var kind string
	v.tokens, _, errs[0] = m.Texts("tokenizer.ggml.tokens")
	v.types, _, errs[1] = m.Ints("tokenizer.ggml.token_type")
	kind, _, errs[2] = m.Text("tokenizer.ggml.model")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, nil, err
	}
	if v.types != nil && len(v.types) != len(v.tokens) {
		return nil, nil, fmt.Errorf("tokenizer.ggml.token_type has %d entries for %d tokens", len(v.types),
			len(v.tokens))
	}
	var model, pre map[string]any
	switch kind {
	case "gpt2":
		model, pre, err = v.byteLevel()
	default:
		err = fmt.Errorf("tokenizer.ggml.model is %q, which is not supported; gpt2 is", kind)
	}
	if err != nil {
		return nil, nil, err
	}
	conf, err = v.config()
	if err != nil {
		return nil, nil, err
	}
	tok = map[string]any{"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": v.added(),
		"normalizer": nil, "pre_tokenizer": pre, "decoder": map[string]any{"type": "ByteLevel",
			"add_prefix_space": true, "trim_offsets": true, "use_regex": true}, "model": model}
	tok["post_processor"], err = v.post(conf)
	return tok, conf, err
}

// added lists the tokens that are cut out of a text before anything else.
func (v vocabulary) added() []map[string]any {
	list := []map[string]any{}
	for id, kind := range v.types {
		if kind == tokenUnknown || kind == tokenControl || kind == tokenUser {
			list = append(list, map[string]any{"id": id, "content": v.tokens[id], "single_word": false, "lstrip": false,
				"rstrip": false, "normalized": false, "special": kind != tokenUser})
		}
	}
	return list
}

// byteLevel is the model and the pre-tokenizer of a byte-level BPE.
func (v vocabulary) byteLevel() (model, pre map[string]any, err error) {
	vocab := make(map[string]int, len(v.tokens))
	for id, s := range v.tokens {
		if _, twice := vocab[s]; twice {
			return nil, nil, fmt.Errorf("token %q is there twice, at %d and %d", s, vocab[s], id)
		}
		vocab[s] = id
	}
	texts, _, err := v.m.Texts("tokenizer.ggml.merges")
	if err != nil {
		return nil, nil, err
	}
	merges := make([][2]string, len(texts))
	for i, s := range texts {
		at := -1
		if len(s) > 1 {
			at = strings.IndexByte(s[1:], ' ') + 1
		}
		if at < 1 {
			return nil, nil, fmt.Errorf("merge %d is %q; it must be two parts with a space between", i, s)
		}
		merges[i] = [2]string{s[:at], s[at+1:]}
	}
	name, _, err := v.m.Text("tokenizer.ggml.pre")
	if err != nil {
		return nil, nil, err
	}
	p, known := preTokenizers()[name]
	if !known {
		return nil, nil, fmt.Errorf("tokenizer.ggml.pre is %q, which is not supported; supported are %s", name,
			strings.Join(slices.Sorted(maps.Keys(preTokenizers())), ", "))
	}
	return map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil,
		"end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "ignore_merges": p.ignoreMerges,
		"vocab": vocab, "merges": merges}, p.json(), nil
}

// config is tokenizer_config.json.
func (v vocabulary) config() (map[string]any, error) {
	conf := map[string]any{"clean_up_tokenization_spaces": false}
	for key, name := range map[string]string{"bos_token_id": "bos_token", "eos_token_id": "eos_token",
		"padding_token_id": "pad_token", "unknown_token_id": "unk_token"} {
		id, ok, err := v.m.Int("tokenizer.ggml." + key)
		switch {
		case err != nil:
			return nil, err
		case ok && id >= int64(len(v.tokens)):
			return nil, fmt.Errorf("tokenizer.ggml.%s is %d, and there are %d tokens", key, id, len(v.tokens))
		case ok:
			conf[name] = v.tokens[id]
		}
	}
	template, ok, err := v.m.Text("tokenizer.chat_template")
	if ok {
		conf["chat_template"] = template
	}
	return conf, err
}

// post puts the first token in front of a text where the file says so.
func (v vocabulary) post(conf map[string]any) (map[string]any, error) {
	byteLevel := map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true}
	name, _, err := v.m.Text("tokenizer.ggml.pre")
	if err != nil {
		return nil, err
	}
	adds, ok, err := v.m.Bool("tokenizer.ggml.add_bos_token")
	if !ok {
		adds = preTokenizers()[name].begins
	}
	bos, has := conf["bos_token"].(string)
	if err != nil || !adds || !has {
		return byteLevel, err
	}
	id, _, err := v.m.Int("tokenizer.ggml.bos_token_id")
	special := func(kind string) map[string]any {
		return map[string]any{kind: map[string]any{"id": bos, "type_id": 0}}
	}
	sequence := func(name string) map[string]any {
		return map[string]any{"Sequence": map[string]any{"id": name, "type_id": 0}}
	}
	template := map[string]any{"type": "TemplateProcessing",
		"single":         []any{special("SpecialToken"), sequence("A")},
		"pair":           []any{special("SpecialToken"), sequence("A"), special("SpecialToken"), sequence("B")},
		"special_tokens": map[string]any{bos: map[string]any{"id": bos, "ids": []int64{id}, "tokens": []string{bos}}},
	}
	return map[string]any{"type": "Sequence", "processors": []any{byteLevel, template}}, err
}
