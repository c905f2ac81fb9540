package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// wrapper is a model with others, of images for example, around one of text, which alone is computed.
type wrapper struct {
	Name, Type string   // as in Arch
	Texts      []string // the model_type of the text's own keys; the first, if they do not say it
	Tied       bool     // the head is the embedding, if no key says
}

// wrappers are those whose text is computed.
var wrappers = []wrapper{
	{Name: "Qwen3_5ForConditionalGeneration", Type: "qwen3_5", Texts: []string{"qwen3_5_text"}},
	{Name: "Gemma3ForConditionalGeneration", Type: "gemma3", Texts: []string{"gemma3_text"}, Tied: true},
	{Name: "Mistral3ForConditionalGeneration", Type: "mistral3", Texts: []string{"mistral", "ministral3"}, Tied: true},
}

// wrapperOf returns the wrapper that a config.json names, by architectures, or by model_type if that is missing.
func (h *hfConfig) wrapperOf() (wrapper, bool) {
	for _, w := range wrappers {
		if slices.Equal(h.Architectures, []string{w.Name}) && (h.ModelType == "" || h.ModelType == w.Type) ||
			len(h.Architectures) == 0 && h.ModelType == w.Type {
			return w, true
		}
	}
	return wrapper{}, false
}

// innerText returns the keys of the model of text in a config.json with other models around it, with the outer ones
// that count for it; otherwise data, which is not wrapped.
func innerText(data []byte) (inner []byte, wrapped bool, err error) {
	outer, h, err := readKeys(data)
	if err != nil {
		return nil, false, err
	}
	w, ok := h.wrapperOf()
	if !ok {
		return data, false, nil
	}
	var text map[string]json.RawMessage
	if err := json.Unmarshal(outer["text_config"], &text); err != nil || text == nil {
		return nil, true, fmt.Errorf("text_config of %s is missing or no object: %v", w.Name, err)
	}
	for _, key := range []string{"eos_token_id", "bos_token_id", "dtype", "torch_dtype", "quantization_config"} {
		if v, ok := outer[key]; ok && text[key] == nil {
			text[key] = v
		}
	}
	if err := w.tie(outer, text); err != nil {
		return nil, true, err
	}
	delete(text, "architectures")
	if text["model_type"] == nil {
		text["model_type"] = json.RawMessage(`"` + w.Texts[0] + `"`)
	}
	if kind := strings.Trim(string(text["model_type"]), `"`); !slices.Contains(w.Texts, kind) {
		return nil, true, fmt.Errorf("model_type = %q in text_config of %s is not supported; supported are %s",
			kind, w.Name, strings.Join(w.Texts, ", "))
	}
	data, err = json.Marshal(text)
	return data, true, err
}

// tie writes to text whether its head is its embedding.
func (w wrapper) tie(outer, text map[string]json.RawMessage) error {
	const key = "tie_word_embeddings"
	own, said := text[key]
	v, ok := outer[key]
	switch {
	case ok && said && string(own) != string(v):
		return fmt.Errorf("%s = %s and in text_config %s; correct one of them", key, v, own)
	case ok:
		text[key] = v
	case !said && w.Tied:
		text[key] = json.RawMessage("true")
	}
	return nil
}

// towers are the beginnings of the names of what a wrapper has beside the text; they are skipped.
func towers() []string {
	return []string{"model.visual.", "mtp.", "model.mtp.", "vision_tower.", "model.vision_tower.",
		"multi_modal_projector.", "model.multi_modal_projector."}
}

// TextName returns the name that a tensor of a folder has in a model of text: files of wrappers have one more part, in
// the place where their release of transformers wrote it. Tensors of other models are not ok.
func TextName(name string) (text string, ok bool) {
	for _, other := range towers() {
		if strings.HasPrefix(name, other) {
			return "", false
		}
	}
	for _, part := range []string{"model.language_model.", "language_model.model."} {
		if rest, ok := strings.CutPrefix(name, part); ok {
			return "model." + rest, true
		}
	}
	return strings.TrimPrefix(name, "language_model."), true
}

// PEFTName returns the name that Python's peft has for a tensor of an adapter on the model.
func (c Config) PEFTName(name string) string {
	if c.Wrapped {
		return strings.Replace(name, PEFTPrefix+"model.", PEFTPrefix+"model.language_model.", 1)
	}
	return name
}

// TextConfig returns config.json without the models around the one of text, or data if there are none.
func TextConfig(data []byte) ([]byte, error) {
	text, wrapped, err := innerText(data)
	if err != nil || !wrapped {
		return data, err
	}
	all, h, err := readKeys(text)
	if err != nil {
		return nil, err
	}
	arch, err := h.arch()
	if err != nil {
		return nil, err
	}
	all["architectures"] = json.RawMessage(`["` + arch.Name + `"]`)
	return json.MarshalIndent(all, "", "  ")
}

// BesideEmbedding returns the name of the head in a file where the embedding has that name.
func BesideEmbedding(embed string) string {
	if strings.HasPrefix(embed, "language_model.") {
		return "language_model." + HeadName
	}
	return HeadName
}
