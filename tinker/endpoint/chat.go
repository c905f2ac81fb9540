package endpoint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/grammar"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// conversation holds the parts of a chat that its answer needs.
type conversation struct {
	style  chat.CallStyle // NoCalls: calls are not looked for
	tools  jinja.List     // that are offered
	one    bool           // at most one call
	begun  string         // the beginning of the answer, which the prompt has for the model
	inside bool           // the prompt ends within a thought
	thinks bool           // the answer may begin with a thought

	called    bool   // the answer must be a call
	name      string // of that tool; "": any
	continued bool   // the answer continues a message
	generic   bool   // the template has no tools, and the messages tell of them

	messages []chat.Message
	raw      json.RawMessage // the messages as they came; nil: in another form
}

// readChat reads the parameters of a chat completion.
func readChat(f param.Fields, t *Text) (*request, error) {
	r, err := readCommon(f, t)
	if err != nil {
		return nil, err
	}
	if _, err := f.Take("logprobs", &r.logprobs); err != nil {
		return nil, err
	}
	if r.logprobs {
		if _, err := f.Take("top_logprobs", &r.top); err != nil {
			return nil, err
		}
	}
	if r.top < 0 || r.top > maxTop {
		return nil, param.Invalid("top_logprobs", "top_logprobs is %d; it must be 0 to %d", r.top, maxTop)
	}
	if r.silent {
		return nil, param.Invalid("max_tokens", "max_tokens is 0; a chat needs 1 or more")
	}
	if len(r.params.StopTokens) == 0 && !r.params.NoStop {
		r.params.StopTokens = t.Ends
	}
	c, p, err := readConversation(f, t)
	if err != nil {
		return nil, err
	}
	r.chat, r.prompts = c, []prompt{p}
	if c.generic {
		r.notes = append(r.notes, genericNote)
	}
	return r, r.shape.ofChat(c)
}

// readConversation reads messages and tools, and renders them as the prompt.
func readConversation(f param.Fields, t *Text) (*conversation, prompt, error) {
	if t.Template == nil {
		return nil, prompt{}, param.Invalid("model", "the model has no chat template; use completions")
	}
	raw := f["messages"]
	messages, err := readMessages(raw)
	delete(f, "messages")
	if err != nil {
		return nil, prompt{}, err
	}
	o, err := readRendering(f, messages)
	if err != nil {
		return nil, prompt{}, err
	}
	if _, said := o.Variables.Get("enable_thinking"); !said {
		o.EnableThinking = t.Thinking
	}
	c := &conversation{messages: messages, raw: raw, continued: o.ContinueFinal, thinks: t.mayThink(&o)}
	if t.Template.CallStyle() == chat.HarmonyCalls { // which are channels of answers without calls, too
		c.style = chat.HarmonyCalls
	}
	if err := readTools(f, c, t, &o); err != nil {
		return nil, prompt{}, err
	}
	text, err := c.render(t.Template, o)
	if err != nil {
		return nil, prompt{}, param.Invalid("messages", "the messages cannot be rendered: %v", err)
	}
	c.inside = strings.HasSuffix(strings.TrimRight(text, speech.Blank), speech.ThinkOpen)
	if o.ContinueFinal {
		said := messages[len(messages)-1].Content
		c.inside = strings.LastIndex(said, speech.ThinkOpen) > strings.LastIndex(said, speech.ThinkClose)
	}
	if c.begun != "" && c.inside {
		text += "\n" + speech.ThinkClose + "\n\n"
		c.inside = false
	}
	text += c.begun
	ids, err := t.encode(text, false)
	return c, prompt{tokens: ids, text: text}, err
}

// render renders the messages.
func (c *conversation) render(t *chat.Template, o chat.Options) (string, error) {
	if !c.generic {
		return t.Render(c.messages, o)
	}
	o.Tools = nil
	text, err := t.Render(genericMessages(c.messages, c.tools, true), o)
	if err != nil { // such as one that knows no system
		return t.Render(genericMessages(c.messages, c.tools, false), o)
	}
	return text, nil
}

// readRendering reads how the messages are rendered. An assistant's last message is continued unless the request says
// otherwise.
func readRendering(f param.Fields, messages []chat.Message) (o chat.Options, err error) {
	last := messages[len(messages)-1]
	o.ContinueFinal = last.Role == "assistant" && len(last.ToolCalls) == 0
	continues, err := f.Take("continue_final_message", &o.ContinueFinal)
	if err != nil {
		return o, err
	}
	o.AddGenerationPrompt = !o.ContinueFinal
	opens, err := f.Take("add_generation_prompt", &o.AddGenerationPrompt)
	if err != nil {
		return o, err
	}
	if opens && !continues {
		o.ContinueFinal = o.ContinueFinal && !o.AddGenerationPrompt
	}
	if o.ContinueFinal && o.AddGenerationPrompt {
		return o, param.Invalid("add_generation_prompt", "continue_final_message and add_generation_prompt are both "+
			"true; set one")
	}
	if o.ContinueFinal && last.Role != "assistant" {
		return o, param.Invalid("continue_final_message", "continue_final_message is true and the last message is of "+
			"role %q; it must be assistant", last.Role)
	}
	raw, ok := f["chat_template_kwargs"]
	if !ok {
		return o, nil
	}
	delete(f, "chat_template_kwargs")
	v, err := jinja.DecodeJSON(raw)
	if o.Variables, ok = v.(*jinja.Map); err != nil || !ok {
		return o, param.Invalid("chat_template_kwargs", "chat_template_kwargs is not an object")
	}
	return o, nil
}

// readTools reads tools, tool_choice and parallel_tool_calls.
func readTools(f param.Fields, c *conversation, t *Text, o *chat.Options) error {
	parallel := true
	if _, err := f.Take("parallel_tool_calls", &parallel); err != nil {
		return err
	}
	c.one = !parallel
	tools, err := readToolList(f)
	if err != nil {
		return err
	}
	choice, name, err := readToolChoice(f)
	if err != nil || choice == "none" {
		return err
	}
	if len(tools) == 0 {
		if choice != "" && choice != "auto" {
			return param.Invalid("tool_choice", "tool_choice is %s and there are no tools", choice)
		}
		return nil
	}
	o.Tools, c.tools, c.style = tools, tools, t.Template.CallStyle()
	if c.generic = c.style == chat.NoCalls; c.generic {
		c.style = chat.QwenCalls
	}
	c.called, c.name = choice != "" && choice != "auto", name
	if !c.called {
		return nil
	}
	if o.ContinueFinal {
		return param.Invalid("tool_choice", "tool_choice is %s and an assistant's message is continued; use auto",
			choice)
	}
	if name != "" && !slices.Contains(toolNames(tools), name) {
		return param.Invalid("tool_choice", "tool_choice names %q, which is none of the tools: %s", name,
			strings.Join(toolNames(tools), ", "))
	}
	if c.style == chat.HarmonyCalls && len(tools) == 1 {
		c.name = toolNames(tools)[0]
	}
	c.begun = speech.CallBegin(c.style, c.name)
	return nil
}

// callForm is the calls that an answer may have: of the tool that must be called, or of all. It is nil where special
// tokens would be between the name of a tool and its arguments, since a form has none.
func (c *conversation) callForm() *grammar.Node {
	if c.style == chat.HarmonyCalls && c.name == "" {
		return nil
	}
	var list []speech.Tool
	for i, own := range toolNames(c.tools) {
		if c.name == "" || c.name == own {
			f, _ := c.tools[i].(*jinja.Map).Get("function")
			schema, _ := f.(*jinja.Map).Get("parameters")
			t := speech.Tool{Name: own}
			if _, ok := schema.(*jinja.Map); ok {
				t.Parameters = json.RawMessage(speech.ToJSON(schema))
			}
			list = append(list, t)
		}
	}
	return speech.CallForm(c.style, list, c.one || c.name != "")
}

// readToolList reads tools.
func readToolList(f param.Fields) (jinja.List, error) {
	raw, ok := f["tools"]
	if !ok {
		return nil, nil
	}
	delete(f, "tools")
	v, err := jinja.DecodeJSON(raw)
	tools, ok := v.(jinja.List)
	if err != nil || !ok {
		return nil, param.Invalid("tools", "tools is not a list")
	}
	if n := len(toolNames(tools)); n != len(tools) {
		return nil, param.Invalid("tools", "%d of %d tools are not functions with a name", len(tools)-n, len(tools))
	}
	return tools, nil
}

// toolNames are the names of those tools that are functions.
func toolNames(tools jinja.List) (names []string) {
	for _, v := range tools {
		tool, _ := v.(*jinja.Map)
		if tool == nil {
			continue
		}
		f, _ := tool.Get("function")
		function, _ := f.(*jinja.Map)
		if function == nil {
			continue
		}
		name, _ := function.Get("name")
		if s, ok := name.(string); ok && s != "" {
			names = append(names, s)
		}
	}
	return names
}

// readToolChoice reads tool_choice: "", none, auto, required, or function with its name.
func readToolChoice(f param.Fields) (choice, name string, err error) {
	raw, ok := f["tool_choice"]
	if !ok {
		return "", "", nil
	}
	delete(f, "tool_choice")
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &choice) == nil && slices.Contains([]string{"none", "auto", "required"}, choice) {
		return choice, "", nil
	}
	if json.Unmarshal(raw, &named) == nil && named.Type == "function" && named.Function.Name != "" {
		return "function", named.Function.Name, nil
	}
	return "", "", param.Invalid("tool_choice", "tool_choice is %s; it must be none, auto, required or a function by "+
		"name", param.Brief(raw))
}
