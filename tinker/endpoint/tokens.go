package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// The routes of vLLM that turn text into tokens and back (https://docs.vllm.ai, Tokenizer API). A request that names no
// model means the only one there is; base models with one tokenizer count as one.

// Tokenize answers POST tokenize: the tokens of a text (prompt), or those that a chat with the same messages, tools and
// template variables has as its prompt.
func (a *API) Tokenize(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	f, m, done, err := a.openText(ctx, tenant, body)
	if err != nil {
		return err
	}
	defer done()
	spell := false
	if _, err := f.Take("return_token_strs", &spell); err != nil {
		return err
	}
	tokens, err := readTokenize(f, m.Text)
	if err != nil {
		return err
	}
	if err := f.Rest(); err != nil {
		return err
	}
	b := param.Object{"count": len(tokens), "max_model_len": m.Context, "tokens": append([]int32{}, tokens...),
		"token_strs": nil}
	if spell {
		names := make([]string, len(tokens))
		for i, id := range tokens {
			names[i] = m.Text.Tokenizer.Token(id)
		}
		b["token_strs"] = names
	}
	param.Reply(w, http.StatusOK, b)
	return nil
}

// readTokenize reads prompt or messages.
func readTokenize(f param.Fields, t *Text) ([]int32, error) {
	text := ""
	there, err := f.Take("prompt", &text)
	if err != nil {
		return nil, err
	}
	_, chat := f["messages"]
	if there == chat {
		return nil, param.Invalid("prompt", "send one of prompt and messages")
	}
	special := !chat // a template writes the special tokens itself
	if _, err := f.Take("add_special_tokens", &special); err != nil {
		return nil, err
	}
	if !chat {
		return t.encode(text, special)
	}
	_, p, err := readConversation(f, t)
	if err != nil || !special {
		return p.tokens, err
	}
	return t.encode(p.text, true)
}

// Detokenize answers POST detokenize: the text of tokens, special tokens too.
func (a *API) Detokenize(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
	f, m, done, err := a.openText(ctx, tenant, body)
	if err != nil {
		return err
	}
	defer done()
	var ids []int32
	there, err := f.Take("tokens", &ids)
	switch {
	case err != nil:
		return err
	case !there:
		return param.Invalid("tokens", "tokens is missing")
	}
	if err := m.Text.check("tokens", ids); err != nil {
		return err
	}
	if err := f.Rest(); err != nil {
		return err
	}
	text, err := m.Text.decode(ids, false)
	if err != nil {
		return err
	}
	param.Reply(w, http.StatusOK, param.Object{"prompt": text})
	return nil
}

// TokenizerInfo answers GET tokenizer_info: tokenizer_config.json of a model; name "" means the only one.
func (a *API) TokenizerInfo(ctx context.Context, w http.ResponseWriter, tenant, name string) error {
	m, err := a.named(ctx, tenant, name)
	if err != nil {
		return err
	}
	defer m.Close()
	if m.Text.Config == nil {
		return param.Invalid("model", "the model has no tokenizer_config.json; use tokenize and detokenize")
	}
	param.Reply(w, http.StatusOK, m.Text.Config)
	return nil
}

// check refuses ids that are no tokens.
func (t *Text) check(name string, ids []int32) error {
	for i, id := range ids {
		if id < 0 || int(id) >= t.Tokenizer.VocabSize() {
			return param.Invalid(name, "%s[%d] is %d; the model has tokens 0 to %d", name, i, id,
				t.Tokenizer.VocabSize()-1)
		}
	}
	return nil
}

// openText reads a body and opens the model that it names, or the only one. The caller calls done.
func (a *API) openText(ctx context.Context, tenant string, body []byte) (f param.Fields, m *Model, done func(),
	err error) {
	o, err := open(ctx, body, func(name string) (*Model, error) { return a.named(ctx, tenant, name) })
	if err != nil {
		return nil, nil, nil, err
	}
	return o.fields, o.model, func() { o.model.Close(); o.done() }, nil
}

// named opens a model by its name, "" the only one.
func (a *API) named(ctx context.Context, tenant, name string) (*Model, error) {
	if name != "" {
		return a.models.Open(ctx, tenant, name)
	}
	cards, err := a.models.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	cards = slices.DeleteFunc(cards, func(c Card) bool { return c.Kind != "base" })
	if len(cards) == 0 {
		return nil, param.Invalid("model", "model is missing; GET models lists the names")
	}
	first, err := a.models.Open(ctx, tenant, cards[0].ID)
	if err != nil {
		return nil, err
	}
	for _, c := range cards[1:] {
		m, err := a.models.Open(ctx, tenant, c.ID)
		if err == nil {
			m.Close()
		}
		if err != nil || m.Text != first.Text {
			first.Close()
			return nil, param.Invalid("model", "model is missing, and %s and %s differ; GET models lists the names",
				cards[0].ID, c.ID)
		}
	}
	return first, nil
}

// tokenizerConfig reads tokenizer_config.json of a folder as vLLM shows it: with the chat template that is in use, and
// without paths of this machine.
func tokenizerConfig(dir, template string) (map[string]any, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "tokenizer_config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("%s: tokenizer_config.json: %w", dir, err)
	}
	for name := range out {
		if strings.HasSuffix(name, "name_or_path") || strings.HasSuffix(name, "_file") {
			delete(out, name)
		}
	}
	if template != "" {
		out["chat_template"] = template
	}
	if out["tokenizer_class"] == nil {
		out["tokenizer_class"] = "PreTrainedTokenizerFast"
	}
	return out, nil
}
