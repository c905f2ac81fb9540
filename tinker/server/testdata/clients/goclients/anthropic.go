package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// anthropicClient has the checks of github.com/anthropics/anthropic-sdk-go. calls names weights that are trained to
// answer the question with a call of add.
type anthropicClient struct {
	hosted, plain anthropic.Client
	calls         string
}

func anthropicChecks(url, key, calls string) []check {
	at := func(base string) anthropic.Client {
		return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(base),
			option.WithAPIKey(key), option.WithMaxRetries(0))
	}
	c := anthropicClient{hosted: at(url + "/anthropic/api"), plain: at(url), calls: calls}
	return []check{
		{"messages", "whole, both prefixes", c.message},
		{"messages", "stream, put together, says what the whole message says", c.stream},
		{"messages", "tools: auto, any, by name, stream, the next turn", c.tools},
		{"messages/count_tokens", "as usage says", c.count},
		{"all", "errors have the client's type", c.errors},
	}
}

// drawn are the options of all requests whose answer has to repeat: Anthropic's interface has no seed.
var drawn = []option.RequestOption{option.WithJSONSet("seed", 7), option.WithJSONSet("temperature", 1)}

func saying() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: base, MaxTokens: 40,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))}}
}

// said is a message as text, without the ids of the message and of its calls.
func said(m *anthropic.Message) string {
	text := fmt.Sprint(m.Role, " ", m.StopReason, " ", m.StopSequence, " ", m.Usage.OutputTokens)
	for _, b := range m.Content {
		text += fmt.Sprintf("|%s %s%s%s%s", b.Type, b.Text, b.Thinking, b.Name, b.Input)
	}
	return text
}

// gather is a streamed message, put together by the client's own accumulator.
func (c anthropicClient) gather(
	ctx context.Context, params anthropic.MessageNewParams, opts ...option.RequestOption,
) (*anthropic.Message, error) {
	var all anthropic.Message
	s := c.hosted.Messages.NewStreaming(ctx, params, opts...)
	defer s.Close()
	for s.Next() {
		if err := all.Accumulate(s.Current()); err != nil {
			return nil, err
		}
	}
	return &all, s.Err()
}

func (c anthropicClient) message(ctx context.Context) error {
	m, err := c.hosted.Messages.New(ctx, saying(), drawn...)
	if err != nil {
		return err
	}
	if len(m.Content) == 0 || m.Usage.OutputTokens == 0 || m.Usage.OutputTokens > 40 {
		return fmt.Errorf("the message is %s", m.RawJSON())
	}
	plain, err := c.plain.Messages.New(ctx, saying(), drawn...)
	if err != nil {
		return err
	}
	return errors.Join(same("the model", m.Model, anthropic.Model(base)),
		same("the message without the prefix", said(plain), said(m)))
}

func (c anthropicClient) stream(ctx context.Context) error {
	whole, err := c.hosted.Messages.New(ctx, saying(), drawn...)
	if err != nil {
		return err
	}
	got, err := c.gather(ctx, saying(), drawn...)
	if err != nil {
		return err
	}
	return errors.Join(same("the streamed message", said(got), said(whole)),
		same("input_tokens", got.Usage.InputTokens+got.Usage.CacheReadInputTokens,
			whole.Usage.InputTokens+whole.Usage.CacheReadInputTokens))
}

// withTools asks the trained weights, greedily, with the tools of their training.
func (c anthropicClient) withTools() anthropic.MessageNewParams {
	params := saying()
	params.Model, params.Temperature, params.MaxTokens = anthropic.Model(c.calls), anthropic.Float(0), 60
	schema := anthropic.ToolInputSchemaParam{Properties: map[string]any{"a": map[string]any{"type": "integer"}},
		Required: []string{"a"}}
	for _, name := range []string{"add", "sub"} {
		params.Tools = append(params.Tools, anthropic.ToolUnionParamOfTool(schema, name))
	}
	return params
}

func (c anthropicClient) tools(ctx context.Context) error {
	params := c.withTools()
	for _, choice := range []anthropic.ToolChoiceUnionParam{
		{OfAuto: &anthropic.ToolChoiceAutoParam{}}, {OfAny: &anthropic.ToolChoiceAnyParam{}},
		anthropic.ToolChoiceParamOfTool("add"),
	} {
		params.ToolChoice = choice
		whole, err := c.hosted.Messages.New(ctx, params)
		if err != nil {
			return err
		}
		got, err := c.gather(ctx, params)
		if err != nil {
			return err
		}
		if err := errors.Join(isCall(whole), isCall(got)); err != nil {
			return err
		}
		params.Messages = append(params.Messages[:1:1], got.ToParam(),
			anthropic.NewUserMessage(anthropic.NewToolResultBlock(got.Content[0].ID, "7", false)))
		params.ToolChoice = anthropic.ToolChoiceUnionParam{}
		next, err := c.hosted.Messages.New(ctx, params)
		if err != nil {
			return err
		}
		if err := same("the next turn's call", next.Content[0].Name, "sub"); err != nil {
			return err
		}
		params.Messages = params.Messages[:1]
	}
	return nil
}

// isCall is an error unless m is a call of add with {"a": 3}.
func isCall(m *anthropic.Message) error {
	if len(m.Content) != 1 {
		return fmt.Errorf("the message has %d blocks: %s", len(m.Content), said(m))
	}
	var input struct{ A int }
	if err := json.Unmarshal(m.Content[0].Input, &input); err != nil {
		return fmt.Errorf("input of %s: %w", said(m), err)
	}
	return errors.Join(same("stop_reason", m.StopReason, anthropic.StopReasonToolUse),
		same("the call", fmt.Sprint(m.Content[0].Name, input.A), "add3"))
}

func (c anthropicClient) count(ctx context.Context) error {
	params := c.withTools()
	n, err := c.hosted.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: params.Model,
		Messages: params.Messages, Tools: []anthropic.MessageCountTokensToolUnionParam{
			{OfTool: params.Tools[0].OfTool}, {OfTool: params.Tools[1].OfTool}}})
	if err != nil {
		return err
	}
	m, err := c.hosted.Messages.New(ctx, params)
	if err != nil {
		return err
	}
	return same("input_tokens", n.InputTokens, m.Usage.InputTokens+m.Usage.CacheReadInputTokens)
}

func (c anthropicClient) errors(ctx context.Context) error {
	for _, tt := range []struct {
		change func(*anthropic.MessageNewParams)
		status int
		kind   anthropic.ErrorType
	}{
		{func(p *anthropic.MessageNewParams) { p.Model = "absent" }, http.StatusNotFound, "not_found_error"},
		{func(p *anthropic.MessageNewParams) { p.MaxTokens = 20_000 }, http.StatusBadRequest,
			"invalid_request_error"},
	} {
		params := saying()
		tt.change(&params)
		_, whole := c.hosted.Messages.New(ctx, params)
		_, stream := c.gather(ctx, params)
		for _, err := range []error{whole, stream} {
			var e *anthropic.Error
			if !errors.As(err, &e) {
				return fmt.Errorf("%T %w is not the client's error", err, err)
			}
			err = errors.Join(same("status", e.StatusCode, tt.status), same("type", e.Type(), tt.kind))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
