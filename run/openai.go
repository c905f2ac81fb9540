package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// openAI is a model of a service that speaks OpenAI's chat completions, as a judge.
type openAI struct {
	url, key, model string
}

// reachOpenAI finds the service in the environment's variables of those names.
func (b *job) reachOpenAI(model, urlEnv, keyEnv string) (workflow.Judge, error) {
	base, ok := b.LookupEnv(urlEnv)
	if !ok || base == "" {
		return nil, fmt.Errorf("run: the judge %s is reached through the environment variable %s, and it is not set; set it to an address such as http://127.0.0.1:8000/v1", model, urlEnv)
	}
	key, _ := b.LookupEnv(keyEnv)
	return &openAI{url: strings.TrimSuffix(base, "/") + "/chat/completions", key: key, model: model}, nil
}

// answerLimit bounds the answer of a service, in bytes.
const answerLimit = 16 << 20

// chatMessage is one message of a chat completion.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func chatMessages(messages []chat.Message) []chatMessage {
	list := make([]chatMessage, len(messages))
	for i, m := range messages {
		list[i] = chatMessage{m.Role, m.Content}
	}
	return list
}

// Ask implements workflow.Judge.
func (o *openAI) Ask(ctx context.Context, messages []chat.Message, temperature float64, seed uint64) (string, error) {
	choices, err := o.complete(ctx, map[string]any{"messages": chatMessages(messages), "temperature": temperature, "seed": seed >> 33})
	if err != nil {
		return "", err
	}
	return choices[0].Message.Content, nil
}

// chatChoice is one answer of a chat completion.
type chatChoice struct {
	Message      chatMessage
	FinishReason string `json:"finish_reason"`
}

// complete sends a chat completion, and returns at least one answer.
func (o *openAI) complete(ctx context.Context, fields map[string]any) ([]chatChoice, error) {
	fields["model"] = o.model
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if o.key != "" {
		req.Header.Set("Authorization", "Bearer "+o.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", o.url, resp.Status, raw[:min(len(raw), 300)])
	}
	var answer struct{ Choices []chatChoice }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", o.url, err)
	}
	if len(answer.Choices) == 0 {
		return nil, errors.New(o.url + ": an answer without choices")
	}
	return answer.Choices, nil
}
