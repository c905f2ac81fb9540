package base

import "github.com/seed-d9ad8ee0/trinity/hf/chat"

// Prompt implements workflow.Renderer.
func (m *Model) Prompt(messages []chat.Message) (string, []int32, error) {
	o := chat.Options{AddGenerationPrompt: true}
	if messages[len(messages)-1].Role == "assistant" {
		o.AddGenerationPrompt, o.ContinueFinal = false, true
	}
	return m.Render(messages, o)
}

// Render implements proxy.Model.
func (m *Model) Render(messages []chat.Message, o chat.Options) (string, []int32, error) {
	if o.EnableThinking == nil {
		o.EnableThinking = m.Thinking
	}
	text, err := m.Template.Render(messages, o)
	if err != nil {
		return "", nil, err
	}
	return text, m.Tokenizer.Encode(text, false), nil
}

// Style implements proxy.Model.
func (m *Model) Style() chat.CallStyle { return m.Template.CallStyle() }

// Encode implements workflow.Renderer.
func (m *Model) Encode(text string) ([]int32, error) { return m.Tokenizer.Encode(text, false), nil }

// Decode implements workflow.Renderer.
func (m *Model) Decode(tokens []int32) string { return m.Tokenizer.Decode(tokens, true) }
