// Package chat turns conversations into text and tokens and back into loss
// masks. A [Template] is a model's chat template with the special tokens and
// the date it is rendered with; it gives the same text as apply_chat_template
// of the transformers library.
package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string
	Content string
	// Reasoning is the thinking before the content, "" for none.
	Reasoning string
	// ToolCalls are the calls an assistant makes, nil for none.
	ToolCalls jinja.List
	// Extra holds further members, such as the name of a tool; may be nil.
	Extra *jinja.Map
}

// Options say how a conversation is rendered.
type Options struct {
	// AddGenerationPrompt ends the text with the opening of an assistant turn.
	AddGenerationPrompt bool
	// ContinueFinal leaves the last message open, so that it is continued.
	ContinueFinal bool
	// EnableThinking is the template variable of that name, not set if nil.
	EnableThinking *bool
	// Tools are the JSON schemas of tools, nil for none.
	Tools jinja.List
	// Variables are further variables of the template; may be nil. They win
	// over the special tokens.
	Variables *jinja.Map
}

// Template renders conversations. It does not change, and any number of
// goroutines may use it at once.
type Template struct {
	plain   *source
	tools   *source    // where tools are at hand; plain if the model has no other
	special *jinja.Map // bos_token and the like
	date    time.Time
}

// source is one text of a template.
type source struct {
	text   string
	parsed *jinja.Template
	broken error // why the text cannot be read; parsed is nil then
}

// toolUse is the name of the template that a model may have for conversations
// with tools.
const toolUse = "tool_use"

// New makes a Template of its text, the tokens of tokenizer_config.json, and
// the date that strftime_now tells; a run keeps one date from its first start
// on. If the text is the config's own, the config's template tool_use renders
// conversations with tools, as in transformers. If tool_use cannot be read, only
// these conversations fail.
func New(text string, config *tokenizer.Config, date time.Time) (*Template, error) {
	if text == "" {
		return nil, fmt.Errorf("chat: the model has no chat template; give one with custom_chat_template")
	}
	parsed, err := jinja.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("chat: the chat template cannot be read: %w", err)
	}
	t := &Template{plain: &source{text: text, parsed: parsed}, special: specialTokens(config), date: date}
	t.tools = t.plain
	if config == nil || text != config.ChatTemplate || config.Templates[toolUse] == "" {
		return t, nil
	}
	t.tools = &source{text: config.Templates[toolUse]}
	if t.tools.parsed, err = jinja.Parse(t.tools.text); err != nil {
		t.tools.broken = fmt.Errorf("chat: the chat template %s cannot be read; correct it in the model's folder, or "+
			"leave the tools out: %w", toolUse, err)
	}
	return t, nil
}

// specialTokens are the tokens that templates may name. config may be nil.
func specialTokens(config *tokenizer.Config) *jinja.Map {
	special := &jinja.Map{}
	if config != nil {
		for _, s := range []struct{ name, token string }{
			{"bos_token", config.BOSToken}, {"eos_token", config.EOSToken}, {"unk_token", config.UNKToken},
			{"pad_token", config.PADToken},
		} {
			if s.token != "" {
				special.Set(s.name, s.token)
			}
		}
	}
	return special
}

// source is the text that renders a conversation with these options.
func (t *Template) source(o Options) *source {
	if o.Tools != nil {
		return t.tools
	}
	return t.plain
}

// Render returns the text of a conversation.
func (t *Template) Render(messages []Message, o Options) (string, error) {
	res, err := t.render(messages, o)
	return res.Text, err
}

// Encode renders a conversation and returns its tokens. Special tokens are
// those that the template writes; none is added.
func (t *Template) Encode(tok *tokenizer.Tokenizer, messages []Message, o Options) ([]int32, error) {
	text, err := t.Render(messages, o)
	if err != nil {
		return nil, err
	}
	return tok.Encode(text, false), nil
}

func (t *Template) render(messages []Message, o Options) (jinja.Result, error) {
	if len(messages) == 0 {
		return jinja.Result{}, fmt.Errorf("chat: a conversation without messages")
	}
	if o.ContinueFinal && o.AddGenerationPrompt {
		return jinja.Result{}, fmt.Errorf("chat: a conversation cannot both continue its last message and open a new " +
			"one")
	}
	if o.ContinueFinal {
		return t.renderOpen(messages, o)
	}
	return t.execute(messages, o)
}

// execute runs the template.
func (t *Template) execute(messages []Message, o Options) (jinja.Result, error) {
	if err := t.source(o).broken; err != nil {
		return jinja.Result{}, err
	}
	ctx := t.special.Clone()
	for key, v := range o.Variables.All() {
		if name, ok := key.(string); ok {
			ctx.Set(name, v)
		}
	}
	if o.EnableThinking != nil {
		ctx.Set("enable_thinking", *o.EnableThinking)
	}
	list := make(jinja.List, len(messages))
	for i := range messages {
		list[i] = messages[i].value()
	}
	ctx.Set("messages", list)
	ctx.Set("tools", nil)
	if o.Tools != nil {
		ctx.Set("tools", o.Tools)
	}
	ctx.Set("documents", nil)
	ctx.Set("add_generation_prompt", o.AddGenerationPrompt)
	res, err := t.source(o).parsed.Render(ctx, jinja.Options{Now: t.date})
	if err != nil {
		return res, fmt.Errorf("chat: the chat template failed: %w", err)
	}
	return res, nil
}

// value is the message as templates see it.
func (m *Message) value() *jinja.Map {
	v := &jinja.Map{}
	if m.Reasoning != "" {
		v.Set("thinking", m.Reasoning)
	}
	v.Set("role", m.Role)
	v.Set("content", m.Content)
	if m.ToolCalls != nil {
		v.Set("tool_calls", m.ToolCalls)
	}
	for key, x := range m.Extra.All() {
		if name, ok := key.(string); ok {
			v.Set(name, x)
		}
	}
	if m.Reasoning != "" {
		v.Set("reasoning_content", m.Reasoning)
	}
	return v
}

// openTag marks the end of a message to be continued. The space at its end
// tells whether the template trims messages.
const openTag = "CONTINUE_FINAL_MESSAGE_TAG "

// renderOpen renders up to the end of the last message's content.
func (t *Template) renderOpen(messages []Message, o Options) (jinja.Result, error) {
	last := messages[len(messages)-1]
	content := strings.TrimFunc(last.Content, pySpace)
	last.Content += openTag
	open := append(append([]Message{}, messages[:len(messages)-1]...), last)
	res, err := t.execute(open, o)
	if err != nil {
		return res, err
	}
	tag := strings.TrimSpace(openTag)
	at := strings.LastIndex(res.Text, tag)
	if at < 0 || !strings.Contains(res.Text, content) {
		return res, fmt.Errorf("chat: the last message cannot be continued: the template does not show it as it is")
	}
	kept := strings.HasPrefix(res.Text[at:], openTag)
	res.Text = res.Text[:at]
	if !kept {
		res.Text = strings.TrimRightFunc(res.Text, pySpace)
	}
	res.Generations = nil
	return res, nil
}
