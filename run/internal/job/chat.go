package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// ChatClient asks a model behind OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat). It
// implements workflow.Judge.
type ChatClient struct {
	URL   string // of chat completions
	Key   string // "" for a service that asks for none
	Model string
}

// ReachJudge finds a service in the environment's variables of those names: a base address such as
// http://127.0.0.1:8000/v1, and a key.
func ReachJudge(lookup func(string) (string, bool), model, urlEnv, keyEnv string) (*ChatClient, error) {
	base, ok := lookup(urlEnv)
	if !ok || base == "" {
		return nil, fmt.Errorf("run: the judge %s is reached through the environment variable %s, which is not set; "+
			"set it to an address such as http://127.0.0.1:8000/v1", model, urlEnv)
	}
	key, _ := lookup(keyEnv)
	return &ChatClient{URL: strings.TrimSuffix(base, "/") + "/chat/completions", Key: key, Model: model}, nil
}

// answerLimit bounds the answer of a service, in bytes.
const answerLimit = 16 << 20

// ChatMessage is one message of a chat completion.
type ChatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func wireMessages(messages []chat.Message) []ChatMessage {
	list := make([]ChatMessage, len(messages))
	for i, m := range messages {
		list[i] = ChatMessage{m.Role, m.Content}
	}
	return list
}

// Ask implements workflow.Judge.
func (c *ChatClient) Ask(ctx context.Context, messages []chat.Message, temperature float64, seed uint64) (string,
	error) {
	choices, err := c.complete(ctx, map[string]any{"messages": wireMessages(messages), "temperature": temperature,
		"seed": seed >> 33})
	if err != nil {
		return "", err
	}
	return choices[0].Message.Content, nil
}

// choice is one answer of a chat completion.
type choice struct {
	Message      ChatMessage
	FinishReason string `json:"finish_reason"`
}

// complete sends a chat completion, and returns at least one answer.
func (c *ChatClient) complete(ctx context.Context, fields map[string]any) ([]choice, error) {
	fields["model"] = c.Model
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, raw, err := bound.Of(answerLimit).Do(http.DefaultClient, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", c.URL, resp.Status, raw[:min(len(raw), 300)])
	}
	var answer struct{ Choices []choice }
	if err := bound.Of(answerLimit).Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	}
	if len(answer.Choices) == 0 {
		return nil, errors.New(c.URL + ": the answer has no choices")
	}
	return answer.Choices, nil
}
