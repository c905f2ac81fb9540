package modeldir

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// startOfTurn begins a turn of Gemma. google's files of Gemma 3 with quantisation-aware training have it and
// <end_of_turn> as normal tokens, so that no text would have them.
const startOfTurn = "<start_of_turn>"

// findTurns finds by their texts the tokens around turns, and those that end an answer. llama.cpp too makes the ends
// control tokens where a file gives them another type.
func (v *vocabulary) findTurns() {
	v.turns = map[int]bool{}
	for _, text := range slices.Concat(gguf.EndsOfTurn(), gguf.EndsOfCall()) {
		if id, ok := v.ids[text]; ok && v.turn(id) {
			v.ends = append(v.ends, int64(id))
		}
	}
	if id, ok := v.ids[startOfTurn]; ok && v.kindOf(id) == tokenNormal {
		v.turns[id] = true
	}
	for _, text := range gguf.OtherEnds() {
		if id, ok := v.ids[text]; ok && text != "</s>" { // which is a tag of HTML where it is not a control token
			v.turn(id)
		}
	}
}

// turn makes a token a control token and reports whether it was none. Tokens of bytes, and unused ones, stay.
func (v *vocabulary) turn(id int) bool {
	if v.kindOf(id) == tokenControl || !v.cut(id) && v.kindOf(id) != tokenNormal {
		return false
	}
	v.turns[id] = true
	return true
}

// stops are all tokens at which llama.cpp ends an answer, besides those that config.json names.
func (v vocabulary) stops() (ids []int64, err error) {
	control := func(text string) bool {
		id, ok := v.ids[text]
		return ok && v.kindOf(id) == tokenControl
	}
	// in these vocabularies <|end|> ends a message, and an answer has several
	messages := (control("<|return|>") || control("<|flush|>")) && (control("<|call|>") || control("<|calls|>"))
	for _, text := range slices.Concat(gguf.EndsOfTurn(), gguf.EndsOfCall(), gguf.OtherEnds(), gguf.EndsOfInfill()) {
		if control(text) && !(text == "<|end|>" && messages) {
			ids = append(ids, int64(v.ids[text]))
		}
	}
	for _, name := range []string{"eom", "fim_pad", "fim_rep", "fim_sep"} {
		id, ok, err := tokenID(v.m, name)
		if err != nil {
			return nil, err
		}
		if ok && id < int64(len(v.tokens)) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// generation is generation_config.json, with all tokens that end an answer. It is empty where config.json has them all:
// config.json itself stays as it was, as jobs know their base model by its bytes.
func (s *shape) generation(stops []int64) map[string]any {
	all := slices.Clone(s.eos)
	for _, id := range stops {
		if !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	if len(all) == len(s.eos) {
		return nil
	}
	return map[string]any{"bos_token_id": s.bos, "eos_token_id": all}
}
