package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// Texts is the folder below the records that keeps the text of their tokens, so that they can be read when the model's
// tokenizer is gone: a file of the same name for each of theirs, with a line for each token that occurs in it.
const Texts = "tokens"

// Text is the text of a token.
type Text struct {
	ID      int32  `json:"id"`
	Text    string `json:"text,omitempty"`
	Bytes   []byte `json:"bytes,omitempty"` // instead of Text, if they are part of a character
	Special bool   `json:"special,omitempty"`
}

// Tokenizer turns tokens into text. Bytes and Token are empty if an id is no token.
type Tokenizer interface {
	Bytes(id int32) []byte
	Token(id int32) string
	IsSpecial(id int32) bool
}

// TextOf is the text of a token: its bytes, or its name if it has none.
func TextOf(t Tokenizer, id int32) Text {
	x := Text{ID: id, Special: t.IsSpecial(id)}
	raw := t.Bytes(id)
	switch {
	case len(raw) == 0:
		x.Text = t.Token(id)
	case utf8.Valid(raw):
		x.Text = string(raw)
	default:
		x.Bytes = raw
	}
	return x
}

// WriteTexts writes the texts of the tokens that occur in a file of records in the folder dir. It is not synced to the
// disk: only readers of records need it.
func WriteTexts(dir, name string, t Tokenizer, samples ...[]int32) error {
	ids := slices.Concat(samples...)
	slices.Sort(ids)
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, id := range slices.Compact(ids) {
		if err := enc.Encode(TextOf(t, id)); err != nil {
			return fmt.Errorf("rollout: %w", err)
		}
	}
	path := filepath.Join(dir, Texts, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	if err := os.WriteFile(path+".tmp", lines.Bytes(), 0o644); err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	return os.Rename(path+".tmp", path)
}

// Worded is a folder that may have the texts of tokens beside its records.
type Worded interface {
	// Texts returns the texts of a file's tokens by id; nil if there are none.
	Texts(ctx context.Context, f File) (map[int32]Text, error)
}

// Texts implements Worded.
func (d Dir) Texts(ctx context.Context, f File) (map[int32]Text, error) {
	file, err := d.openBeside(Texts, f)
	if file == nil {
		return nil, err
	}
	defer file.Close()
	texts := map[int32]Text{}
	err = Lines(ctx, file, func(line []byte, _, _ int64) {
		var t Text
		if json.Unmarshal(line, &t) == nil {
			texts[t.ID] = t
		}
	})
	return texts, err
}
