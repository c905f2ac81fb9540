package endpoint

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// everyText is a body of each route that makes tokens of a text, with TEXT in its place.
var everyText = map[string]struct {
	call func(*API) handler
	body string
}{
	"tokenize":     {func(a *API) handler { return a.Tokenize }, `{"prompt":"TEXT"}`},
	"chat tokens":  {func(a *API) handler { return a.Tokenize }, `{"messages":[{"role":"user","content":"TEXT"}]}`},
	"chat":         {func(a *API) handler { return a.Chat }, `{"messages":[{"role":"user","content":"TEXT"}]}`},
	"completion":   {func(a *API) handler { return a.Complete }, `{"prompt":"TEXT"}`},
	"completions":  {func(a *API) handler { return a.Complete }, `{"prompt":["a","TEXT"]}`},
	"responses":    {func(a *API) handler { return a.Respond }, `{"input":"TEXT"}`},
	"messages":     {messages, `{"max_tokens":1,"messages":[{"role":"user","content":"TEXT"}]}`},
	"count tokens": {countTokens, `{"messages":[{"role":"user","content":"TEXT"}]}`},
	"ollama chat":  {func(a *API) handler { return a.OllamaChat }, `{"messages":[{"role":"user","content":"TEXT"}]}`},
	"ollama":       {func(a *API) handler { return a.OllamaGenerate }, `{"prompt":"TEXT"}`},
	"ollama raw":   {func(a *API) handler { return a.OllamaGenerate }, `{"prompt":"TEXT","raw":true}`},
}

// shared calls a route within a budget, and reports the status of its error and what the request still holds.
func shared(t *testing.T, b *web.Budget, name, text string) (status int, message string, held int64) {
	t.Helper()
	r, share := everyText[name], b.Share("me")
	defer share.Release()
	body := strings.Replace(strings.Replace(r.body, "TEXT", text, 1), "{", `{"model":"tiny",`, 1)
	m := &shelf{Model{Text: newTinyText(t), Context: 512}}
	a := New(m, func() time.Time { return time.Unix(1e9, 0) })
	err := r.call(a)(web.WithShare(t.Context(), share), httptest.NewRecorder(), "me", []byte(body))
	if err == nil {
		return http.StatusOK, "", share.Held()
	}
	return param.ErrorOf(err).Status, err.Error(), share.Held()
}

func newTinyText(t *testing.T) *Text {
	t.Helper()
	text, err := LoadText(tinyModel, nil, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A text far beyond the context is refused by every route, in the words that clients know.
func TestTextsAreBoundedByTheContext(t *testing.T) {
	longest := newTinyText(t).Tokenizer.Longest()
	for name := range everyText {
		for why, text := range map[string]string{
			"more bytes than the tokens can stand for": strings.Repeat("ab ", fewTokens*longest/3+1),
			"more tokens than are encoded":             strings.Repeat("~#", patience*fewTokens/2+1),
		} {
			code, message, held := shared(t, web.NewBudget(8<<30, 4<<30), name, text)
			if code != http.StatusBadRequest || !strings.Contains(message, "maximum context length is 512 tokens") ||
				!strings.Contains(message, "requested more than") || held != 0 {
				t.Errorf("%s, %s: %d %s; %d bytes are held", name, why, code, message, held)
			}
		}
	}
}

// What reading a text takes is reserved in the tenant's budget, and given back.
func TestTextsAreCharged(t *testing.T) {
	text := strings.Repeat("ab ", 10_000)
	for name := range everyText {
		small := web.NewBudget(2*tokenizer.Memory*int64(len(text)), 1<<40)
		if code, message, held := shared(t, small, name, text); code != http.StatusRequestEntityTooLarge || held != 0 {
			t.Errorf("%s: %d %s; %d bytes are held", name, code, message, held)
		}
		if small.InUse() != 0 {
			t.Errorf("%s: %d bytes are left", name, small.InUse())
		}
	}
}
