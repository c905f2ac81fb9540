package modelfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// readSpecial reads what the special tokens are, and the chat templates.
func (v *vocabulary) readSpecial(tok *tokenizer.Tokenizer, conf *tokenizer.Config, ends []int32) error {
	ids := map[string]int32{}
	for key, text := range map[string]string{"bos": conf.BOSToken, "eos": conf.EOSToken, "padding": conf.PADToken,
		"unknown": conf.UNKToken} {
		if id, ok := tok.TokenID(text); ok && text != "" {
			ids[key] = id
		}
	}
	if _, ok := ids["eos"]; !ok && len(ends) > 0 {
		ids["eos"] = ends[0]
	}
	for key, texts := range map[string][]string{"eot": gguf.EndsOfTurn(), "eom": gguf.EndsOfCall()} {
		for _, text := range slices.Backward(texts) {
			if id, ok := tok.TokenID(text); ok && tok.IsSpecial(id) {
				ids[key] = id
			}
		}
	}
	addBOS, addEOS, err := around(tok, ids)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(ids)) {
		if int(ids[key]) >= len(v.tokens) {
			return fmt.Errorf("the %s token has id %d, and there are %d", key, ids[key], len(v.tokens))
		}
		v.special = append(v.special, gguf.Pair{Key: "tokenizer.ggml." + key + "_token_id", Value: uint32(ids[key])})
	}
	v.special = append(v.special, gguf.Pair{Key: "tokenizer.ggml.add_bos_token", Value: addBOS},
		gguf.Pair{Key: "tokenizer.ggml.add_eos_token", Value: addEOS})
	v.templates(conf)
	for _, key := range []string{"eos", "eot", "eom"} {
		if id, ok := ids[key]; ok && !slices.Contains(v.stops, v.tokens[id]) {
			v.stops = append(v.stops, v.tokens[id])
		}
	}
	for _, id := range ends {
		if int(id) < len(v.tokens) && !slices.Contains(v.stops, v.tokens[id]) {
			v.stops = append(v.stops, v.tokens[id])
		}
	}
	return nil
}

// around reports which tokens the post-processor puts around a text. A first token that the configuration does not
// name is made the first token by it.
func around(tok *tokenizer.Tokenizer, ids map[string]int32) (bos, eos bool, err error) {
	const text = "a"
	inner, all := tok.Encode(text, false), tok.Encode(text, true)
	for i := range len(all) - len(inner) + 1 {
		if !slices.Equal(all[i:i+len(inner)], inner) {
			continue
		}
		before, after := all[:i], all[i+len(inner):]
		if _, named := ids["bos"]; !named && len(before) == 1 {
			ids["bos"] = before[0]
		}
		if len(before) > 1 || len(after) > 1 || len(before) == 1 && before[0] != ids["bos"] ||
			len(after) == 1 && (!has(ids, "eos") || after[0] != ids["eos"]) {
			break
		}
		return len(before) == 1, len(after) == 1, nil
	}
	return false, false, fmt.Errorf("the post_processor of tokenizer.json makes %v of %v; only the bos and eos tokens "+
		"around a text can be written as GGUF", all, inner)
}

func has(ids map[string]int32, key string) bool { _, ok := ids[key]; return ok }

// templates adds the chat template, and others by their names.
func (v *vocabulary) templates(conf *tokenizer.Config) {
	if conf.ChatTemplate != "" {
		v.special = append(v.special, gguf.Pair{Key: "tokenizer.chat_template", Value: conf.ChatTemplate})
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(conf.Templates)) {
		if name != "default" {
			others = append(others, name)
			v.special = append(v.special, gguf.Pair{Key: "tokenizer.chat_template." + name,
				Value: conf.Templates[name]})
		}
	}
	if len(others) > 0 {
		v.special = append(v.special, gguf.Pair{Key: "tokenizer.chat_templates", Value: others})
	}
}
