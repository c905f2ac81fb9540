package studio

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// words gives tokens their text: the one beside the record, or the tokenizer's.
type words struct {
	recorded  map[int32]rollout.Text
	tokenizer *tokenizer.Tokenizer // nil: the model's folder is gone
}

// words returns the texts of the tokens in a file of records. For a nil file the tokenizer gives them.
func (e *entry) words(ctx context.Context, f *rollout.Indexed) words {
	w := words{tokenizer: e.openTokenizer()}
	folder, ok := e.folder.(rollout.Worded)
	if !ok || f == nil {
		return w
	}
	var err error
	if w.recorded, err = folder.Texts(ctx, f.File); err != nil {
		e.opts.Log.Warn("the texts of tokens cannot be read", "run", e.id, "file", f.File.Name, "error", err)
	}
	return w
}

// openTokenizer returns the tokenizer of the run's model, nil if it is gone.
func (e *entry) openTokenizer() *tokenizer.Tokenizer {
	e.tokenizing.Do(func() {
		names := []string{e.run.Look().Model}
		for _, s := range e.run.Settings() {
			if text, ok := s.Value.(string); ok && (s.Key == "model.tokenizer_path" || s.Key == "model.model_path") {
				names = append(names, text)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if e.tokenizer = e.load(name); e.tokenizer != nil {
				return
			}
		}
	})
	return e.tokenizer
}

func (e *entry) load(name string) *tokenizer.Tokenizer {
	if name == "" {
		return nil
	}
	dir, err := e.opts.Model(e.run.Path(), name)
	if err != nil {
		dir = name
	}
	t, err := tokenizer.Load(cmp.Or(dir, name))
	if err != nil {
		e.opts.Log.Info("cannot read a tokenizer; tokens without a recorded text are shown as ids", "run", e.id,
			"model", name, "error", err)
		return nil
	}
	return t
}

// some reports whether any token has a text.
func (w words) some() bool { return w.tokenizer != nil || len(w.recorded) > 0 }

// token is a token with its text. One that is a part of a character has bytes instead.
func (w words) token(id int32) Token {
	x, ok := w.recorded[id]
	if !ok && w.tokenizer != nil {
		x = rollout.TextOf(w.tokenizer, id)
	}
	return Token{ID: id, Text: x.Text, Special: x.Special, Bytes: base64.StdEncoding.EncodeToString(x.Bytes)}
}

// name adds the texts of alternatives.
func (w words) name(list []Alternative) []Alternative {
	for i := range list {
		list[i].Text = w.token(list[i].ID).Text
	}
	return list
}
