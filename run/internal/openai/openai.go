// Package openai asks models behind OpenAI's chat completions: as a judge of answers, and as the model that mode bench
// evaluates (https://platform.openai.com/docs/api-reference/chat).
package openai

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

// Client is a model of a service that speaks OpenAI's chat completions. It implements workflow.Judge.
type Client struct {
	URL   string // of chat completions
	Key   string // "" for a service that asks for none
	Model string
}

// Reach finds a service in the environment's variables of those names: a base address such as
// http://127.0.0.1:8000/v1, and a key.
func Reach(lookup func(string) (string, bool), model, urlEnv, keyEnv string) (*Client, error) {
	base, ok := lookup(urlEnv)
	if !ok || base == "" {
		return nil, fmt.Errorf("run: the judge %s is reached through the environment variable %s, which is not set; "+
			"set it to an address such as http://127.0.0.1:8000/v1", model, urlEnv)
	}
	key, _ := lookup(keyEnv)
	return &Client{URL: strings.TrimSuffix(base, "/") + "/chat/completions", Key: key, Model: model}, nil
}

// answerLimit bounds the answer of a service, in bytes.
const answerLimit = 16 << 20

// Message is one message of a chat completion.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func wireMessages(messages []chat.Message) []Message {
	list := make([]Message, len(messages))
	for i, m := range messages {
		list[i] = Message{m.Role, m.Content}
	}
	return list
}

// Ask implements workflow.Judge.
func (c *Client) Ask(ctx context.Context, messages []chat.Message, temperature float64, seed uint64) (string, error) {
	choices, err := c.complete(ctx, map[string]any{"messages": wireMessages(messages), "temperature": temperature,
		"seed": seed >> 33})
	if err != nil {
		return "", err
	}
	return choices[0].Message.Content, nil
}

// choice is one answer of a chat completion.
type choice struct {
	Message      Message
	FinishReason string `json:"finish_reason"`
}

// complete sends a chat completion, and returns at least one answer.
func (c *Client) complete(ctx context.Context, fields map[string]any) ([]choice, error) {
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
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := bound.Of(answerLimit).Read(resp.Body)
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
