package modeldir

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// tokenID is the id of a special token: "bos", "eos", "eot", "padding" or "unknown". ok is false if there is none.
// Files with SentencePiece need not name the first three of SentencePiece's own.
func tokenID(m gguf.Metadata, name string) (id int64, ok bool, err error) {
	id, ok, err = m.Int("tokenizer.ggml." + name + "_token_id")
	if err != nil || ok && id < 1<<31 {
		return id, ok, err
	}
	if ok { // files say -1 in 32 bits where there is none
		return 0, false, nil
	}
	kind, _, err := m.Text("tokenizer.ggml.model")
	if err != nil || kind != sentencePiece {
		return 0, false, err
	}
	switch name {
	case "unknown":
		return 0, true, nil
	case "bos":
		return 1, true, nil
	case "eos":
		return 2, true, nil
	}
	return 0, false, nil
}

// config is tokenizer_config.json.
func (v vocabulary) config() (map[string]any, error) {
	// without a class transformers uses config.json's family, whose tokenizer is not the one of tokenizer.json
	conf := map[string]any{"clean_up_tokenization_spaces": false, "tokenizer_class": "PreTrainedTokenizerFast"}
	for name, key := range map[string]string{"bos": "bos_token", "eos": "eos_token", "padding": "pad_token",
		"unknown": "unk_token"} {
		id, ok, err := tokenID(v.m, name)
		switch {
		case err != nil:
			return nil, err
		case ok && id >= int64(len(v.tokens)):
			return nil, fmt.Errorf("tokenizer.ggml.%s_token_id is %d, and there are %d tokens; convert the model again",
				name, id, len(v.tokens))
		case ok:
			conf[key] = v.tokens[id]
		}
	}
	template, err := v.template()
	if template != nil {
		conf["chat_template"] = template
	}
	return conf, err
}

// template is the chat template, or the list of them if there are several; nil if there is none.
func (v vocabulary) template() (any, error) {
	text, ok, err := v.m.Text("tokenizer.chat_template")
	if err != nil {
		return nil, err
	}
	names, several, err := v.m.Texts("tokenizer.chat_templates")
	if err != nil || !ok && !several {
		return nil, err
	}
	if !several {
		return text, nil
	}
	list := []map[string]string{}
	if ok {
		list = append(list, map[string]string{"name": "default", "template": text})
	}
	for _, name := range names {
		text, has, err := v.m.Text("tokenizer.chat_template." + name)
		if err != nil {
			return nil, err
		}
		if has && name != "default" {
			list = append(list, map[string]string{"name": name, "template": text})
		}
	}
	return list, nil
}

// post puts the first token in front of a text, and the last one behind it, if the file asks for it.
func (v vocabulary) post() (any, error) {
	name, _, err := v.m.Text("tokenizer.ggml.pre")
	if err != nil {
		return nil, err
	}
	begins := v.kind == sentencePiece || preTokenizers()[name].begins
	first, err := v.around("bos", begins)
	if err != nil {
		return nil, err
	}
	last, err := v.around("eos", false)
	if err != nil {
		return nil, err
	}
	if first == nil && last == nil {
		return nil, nil
	}
	specials := map[string]any{}
	var single []any
	add := func(t *special) {
		if t != nil {
			single = append(single, map[string]any{"SpecialToken": map[string]any{"id": t.text, "type_id": 0}})
			specials[t.text] = map[string]any{"id": t.text, "ids": []int64{t.id}, "tokens": []string{t.text}}
		}
	}
	add(first)
	single = append(single, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}})
	add(last)
	second := map[string]any{"Sequence": map[string]any{"id": "B", "type_id": 0}}
	pair := append(single[:len(single):len(single)], second)
	return map[string]any{"type": "TemplateProcessing", "single": single, "pair": pair,
		"special_tokens": specials}, nil
}

// special is a special token.
type special struct {
	id   int64
	text string
}

// around is the special token that is put around each text: nil if the file says not to, or has none.
func (v vocabulary) around(name string, or bool) (*special, error) {
	adds, ok, err := v.m.Bool("tokenizer.ggml.add_" + name + "_token")
	if !ok {
		adds = or
	}
	if err != nil || !adds {
		return nil, err
	}
	id, has, err := tokenID(v.m, name)
	if err != nil || !has || id >= int64(len(v.tokens)) {
		return nil, err
	}
	return &special{id, v.tokens[id]}, nil
}
