package job

import (
	"cmp"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// Prompt implements workflow.Renderer.
func (m *Model) Prompt(messages []chat.Message) (string, []int32, error) {
	o := chat.Options{AddGenerationPrompt: true}
	if messages[len(messages)-1].Role == "assistant" {
		o.AddGenerationPrompt, o.ContinueFinal = false, true
	}
	return m.Render(messages, o)
}

// Render renders messages for the model.
func (m *Model) Render(messages []chat.Message, o chat.Options) (string, []int32, error) {
	o.EnableThinking = cmp.Or(o.EnableThinking, m.Thinking)
	text, err := m.Template.Render(messages, o)
	if err != nil {
		return "", nil, err
	}
	return text, m.Tokenizer.Encode(text, false), nil
}

// Encode implements workflow.Renderer.
func (m *Model) Encode(text string) ([]int32, error) { return m.Tokenizer.Encode(text, false), nil }

// Text is the model for OpenAI's interface, with the chat template of the configuration. Its answers end where those
// of the local engine do. A folder for a server may have a tokenizer alone.
func (m *Model) Text() (*endpoint.Text, error) {
	ends, err := m.Ends()
	if err != nil {
		return nil, err
	}
	more, _ := engine.FolderEnds(m.Dir) // none without a config.json that the engine reads
	for _, id := range more {
		if !slices.Contains(ends, id) {
			ends = append(ends, id)
		}
	}
	return &endpoint.Text{Tokenizer: m.Tokenizer, Template: m.Template, Ends: ends, Thinking: m.Thinking,
		Plain: true}, err
}

// Ends are the tokens that end a turn, the template's and the tokenizer's.
func (m *Model) Ends() ([]int32, error) {
	conf, err := tokenizer.LoadConfig(m.Dir)
	if err != nil {
		return nil, err
	}
	var list []int32
	if m.Template != nil { // a base model may have none
		list, err = m.Template.StopIDs(m.Tokenizer)
	}
	if id, ok := m.Tokenizer.TokenID(conf.EOSToken); ok && !slices.Contains(list, id) {
		list = append(list, id)
	}
	return list, err
}

// Decode implements workflow.Renderer.
func (m *Model) Decode(tokens []int32) string { return m.Tokenizer.Decode(tokens, true) }
