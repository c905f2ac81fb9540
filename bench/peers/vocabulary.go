package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/examples/tiny"
)

// writeTokenizer writes the tokenizer of examples/tiny to the folder, with a word for each id of the vocabulary that
// it lacks: a server then has a text for every token that random weights draw. No text is encoded to such a word.
func (s shape) writeTokenizer(dir string) error {
	config, err := fs.ReadFile(tiny.Files(), "model/tokenizer_config.json")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), config, 0o644); err != nil {
		return err
	}
	data, err := fs.ReadFile(tiny.Files(), "model/tokenizer.json")
	if err != nil {
		return err
	}
	if data, err = widen(data, s.vocab); err != nil {
		return fmt.Errorf("peers: tokenizer of %s: %w", s.title(), err)
	}
	return os.WriteFile(filepath.Join(dir, "tokenizer.json"), data, 0o644)
}

// widen adds words to a tokenizer.json until it has as many ids as the vocabulary.
func widen(data []byte, vocab int) ([]byte, error) {
	var file, model map[string]json.RawMessage
	var added []struct{ ID int }
	var words map[string]int
	for _, step := range []struct {
		from func() json.RawMessage
		to   any
	}{
		{func() json.RawMessage { return data }, &file},
		{func() json.RawMessage { return file["model"] }, &model},
		{func() json.RawMessage { return model["vocab"] }, &words},
		{func() json.RawMessage { return file["added_tokens"] }, &added},
	} {
		if err := json.Unmarshal(step.from(), step.to); err != nil {
			return nil, err
		}
	}
	used := map[int]bool{}
	for _, id := range words {
		used[id] = true
	}
	for _, t := range added {
		used[t.ID] = true
	}
	for id := range vocab {
		if !used[id] {
			words[fmt.Sprintf("w%d", id)] = id
		}
	}
	var err error
	if model["vocab"], err = json.Marshal(words); err != nil {
		return nil, err
	}
	if file["model"], err = json.Marshal(model); err != nil {
		return nil, err
	}
	return json.Marshal(file)
}
