package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// golden is a conversation as transformers renders, encodes and masks it, see
// testdata/make.py.
type golden struct {
	name, model, tokenizer string
	config                 tokenizer.Config
	messages               []Message
	options                Options
	text                   string
	ids                    []int32
	mask                   []bool // nil if the case has none
	fails                  bool
}

func goldens(t *testing.T) (all []golden) {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jinja.DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.(jinja.List) {
		all = append(all, readGolden(c.(*jinja.Map)))
	}
	return all
}

func member[T any](m *jinja.Map, key string) T {
	v, _ := m.Get(key)
	x, _ := v.(T)
	return x
}

func readGolden(m *jinja.Map) golden {
	special, kw := member[*jinja.Map](m, "special"), member[*jinja.Map](m, "kw")
	g := golden{
		name: member[string](m, "name"), model: member[string](m, "model"), tokenizer: member[string](m, "tokenizer"),
		config: tokenizer.Config{BOSToken: member[string](special, "bos_token"),
			EOSToken: member[string](special, "eos_token"), PADToken: member[string](special, "pad_token")},
		text: member[string](m, "text"),
		options: Options{
			AddGenerationPrompt: member[bool](kw, "add_generation_prompt"),
			ContinueFinal:       member[bool](kw, "continue_final_message"),
			Tools:               member[jinja.List](kw, "tools"),
		},
	}
	for key, v := range kw.All() {
		switch key {
		case "add_generation_prompt", "continue_final_message", "tools":
		case "enable_thinking":
			on := v.(bool)
			g.options.EnableThinking = &on
		default:
			if g.options.Variables == nil {
				g.options.Variables = &jinja.Map{}
			}
			g.options.Variables.Set(key.(string), v)
		}
	}
	for _, c := range member[jinja.List](m, "chat") {
		c := c.(*jinja.Map)
		message := Message{Role: member[string](c, "role"), Content: member[string](c, "content"),
			Reasoning: member[string](c, "reasoning_content"), ToolCalls: member[jinja.List](c, "tool_calls")}
		for _, key := range []string{"name", "tool_call_id"} {
			if text := member[string](c, key); text != "" {
				if message.Extra == nil {
					message.Extra = &jinja.Map{}
				}
				message.Extra.Set(key, text)
			}
		}
		g.messages = append(g.messages, message)
	}
	for _, id := range member[jinja.List](m, "ids") {
		g.ids = append(g.ids, int32(id.(int64)))
	}
	for _, x := range member[jinja.List](m, "mask") {
		g.mask = append(g.mask, x.(int64) == 1)
	}
	_, g.fails = m.Get("error")
	return g
}

// parts loads a template and a tokenizer of the packages below.
func parts(t *testing.T, model, file string, config *tokenizer.Config) (*Template, *tokenizer.Tokenizer) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../jinja/testdata", model+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := New(string(text), config, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(filepath.Join("../tokenizer/testdata", file+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return tmpl, tok
}

func TestGolden(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			tmpl, tok := parts(t, g.model, g.tokenizer, &g.config)
			text, err := tmpl.Render(g.messages, g.options)
			if (err != nil) != g.fails {
				t.Fatalf("Render: error %v, want one: %v", err, g.fails)
			}
			if text != g.text {
				t.Fatalf("Render\n got %q\nwant %q", text, g.text)
			}
			if g.fails {
				return
			}
			ids, err := tmpl.Encode(tok, g.messages, g.options)
			if err != nil || !slices.Equal(ids, g.ids) {
				t.Errorf("Encode = %v, %v, want %v", ids, err, g.ids)
			}
			if g.mask == nil {
				return
			}
			c, err := tmpl.Conversation(tok, g.messages, g.options)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.Tokens, g.ids) || !slices.Equal(c.Mask, g.mask) {
				t.Errorf("Conversation\n mask %v\n want %v", c.Mask, g.mask)
			}
			if want := max(0, slices.Index(g.mask, true)); c.PromptLength != want {
				t.Errorf("PromptLength = %d, want %d", c.PromptLength, want)
			}
		})
	}
}

func TestOneBOS(t *testing.T) {
	tmpl, tok := parts(t, "llama32", "llama3", &tokenizer.Config{BOSToken: "<|begin|>"})
	ids, err := tmpl.Encode(tok, []Message{{Role: "user", Content: "Hi"}}, Options{AddGenerationPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	bos, _ := tok.TokenID("<|begin|>")
	if n := strings.Count(tok.Decode(ids, false), "<|begin|>"); ids[0] != bos || n != 1 {
		t.Errorf("%d BOS tokens, first token %q, want one BOS at the start", n, tok.Token(ids[0]))
	}
}

func TestStopIDs(t *testing.T) {
	for _, c := range []struct{ model, file, want string }{
		{"qwen25", "qwen2", "<|im_end|>"},
		{"qwen3", "qwen2", "<|im_end|>"},
		{"generation", "llama3", "<|im_end|>"},
		{"llama32", "llama3", ""}, // this tokenizer has no <|eot_id|>
	} {
		tmpl, tok := parts(t, c.model, c.file, nil)
		ids, err := tmpl.StopIDs(tok)
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Decode(ids, false); got != c.want {
			t.Errorf("%s: StopIDs = %q, want %q", c.model, got, c.want)
		}
	}
}

// A model's template tool_use is for conversations with tools, and a template
// that was chosen instead of the model's is for all.
func TestToolUse(t *testing.T) {
	const plain = "{% for m in messages %}{{ m.content }}{% endfor %}"
	conf := &tokenizer.Config{ChatTemplate: plain, Templates: map[string]string{"default": plain,
		"tool_use": "{{ tools[0] }}<tool_call>" + plain}}
	user, tools := []Message{{Role: "user", Content: "Hi"}}, jinja.List{"add"}
	for _, c := range []struct {
		name, text string
		tools      jinja.List
		want       string
		style      CallStyle
	}{
		{"without tools", plain, nil, "Hi", QwenCalls},
		{"with tools", plain, tools, "add<tool_call>Hi", QwenCalls},
		{"with tools and a chosen template", plain + "!", tools, "Hi!", NoCalls},
	} {
		tmpl, err := New(c.text, conf, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tmpl.Render(user, Options{Tools: c.tools}); err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
		if got := tmpl.CallStyle(); got != c.style {
			t.Errorf("%s: style %v, want %v", c.name, got, c.style)
		}
	}
}

func TestRefusals(t *testing.T) {
	if _, err := New("", nil, time.Time{}); err == nil || !strings.Contains(err.Error(), "no chat template") {
		t.Errorf("New without a template: %v", err)
	}
	if _, err := New("{% if %}", nil, time.Time{}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("New with a broken template: %v", err)
	}
	tmpl, tok := parts(t, "qwen25", "qwen2", nil)
	if _, err := tmpl.Conversation(tok, nil, Options{}); err == nil ||
		!strings.Contains(err.Error(), "without messages") {
		t.Errorf("Conversation without messages: %v", err)
	}
	user := []Message{{Role: "user", Content: "Hi"}}
	if _, err := tmpl.Render(user, Options{ContinueFinal: true, AddGenerationPrompt: true}); err == nil {
		t.Error("Render both continues a message and opens one")
	}
	silent, err := New("{% for m in messages %}{{ m.role }}{% endfor %}", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Render(user, Options{ContinueFinal: true}); err == nil ||
		!strings.Contains(err.Error(), "cannot be continued") {
		t.Errorf("a message that is not shown is continued: %v", err)
	}
	if _, err := silent.StopIDs(tok); err == nil || !strings.Contains(err.Error(), "its end cannot be found") {
		t.Errorf("StopIDs of a template without contents: %v", err)
	}
}
