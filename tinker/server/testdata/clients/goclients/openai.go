package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// openaiClient has the checks of github.com/openai/openai-go.
type openaiClient struct{ hosted, plain openai.Client }

func openaiChecks(url, key string) []check {
	at := func(prefix string) openai.Client {
		return openai.NewClient(option.WithBaseURL(url+prefix), option.WithAPIKey(key), option.WithMaxRetries(0))
	}
	c := openaiClient{hosted: at("/oai/api/v1"), plain: at("/v1")}
	return []check{
		{"chat/completions", "whole, logprobs, both prefixes", c.chat},
		{"chat/completions", "stream says what the whole answer says", c.stream},
		{"chat/completions", "a required tool, streamed", c.tools},
		{"completions", "echo and logprobs", c.completion},
		{"models", "list, retrieve", c.models},
		{"all", "errors have the client's type", c.errors},
	}
}

// asking is the request of all chats here.
func asking() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: base, Seed: openai.Int(7), MaxTokens: openai.Int(40),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)}, Logprobs: openai.Bool(true)}
}

func (c openaiClient) chat(ctx context.Context) error {
	var texts [2]string
	for i, client := range []openai.Client{c.hosted, c.plain} {
		r, err := client.Chat.Completions.New(ctx, asking())
		if err != nil {
			return err
		}
		choice := r.Choices[0]
		if err := same("completion_tokens", r.Usage.CompletionTokens, int64(len(choice.Logprobs.Content))); err != nil {
			return err
		}
		texts[i] = fmt.Sprint(choice.Message.Content, choice.FinishReason, choice.Logprobs.Content[0].Logprob)
	}
	return same("the answer under /v1", texts[1], texts[0])
}

func (c openaiClient) stream(ctx context.Context) error {
	whole, err := c.hosted.Chat.Completions.New(ctx, asking())
	if err != nil {
		return err
	}
	params := asking()
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	got, err := c.gather(ctx, params)
	if err != nil {
		return err
	}
	want := whole.Choices[0]
	return errors.Join(same("content", got.Choices[0].Message.Content, want.Message.Content),
		same("finish_reason", got.Choices[0].FinishReason, want.FinishReason),
		same("total_tokens", got.Usage.TotalTokens, whole.Usage.TotalTokens))
}

// gather is a streamed answer, put together by the client's own accumulator.
func (c openaiClient) gather(ctx context.Context, params openai.ChatCompletionNewParams) (
	openai.ChatCompletionAccumulator, error,
) {
	var all openai.ChatCompletionAccumulator
	s := c.hosted.Chat.Completions.NewStreaming(ctx, params)
	defer s.Close()
	for s.Next() {
		if !all.AddChunk(s.Current()) {
			return all, fmt.Errorf("the client cannot add %s", s.Current().RawJSON())
		}
	}
	if s.Err() == nil && len(all.Choices) == 0 {
		return all, errors.New("the stream has no choice")
	}
	return all, s.Err()
}

func (c openaiClient) tools(ctx context.Context) error {
	params := asking()
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
		openai.FunctionDefinitionParam{Name: "add", Parameters: openai.FunctionParameters{"type": "object"}})}
	params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(
		openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "add"})
	params.Logprobs = openai.Bool(false)
	whole, err := c.hosted.Chat.Completions.New(ctx, params)
	if err != nil {
		return err
	}
	got, err := c.gather(ctx, params)
	if err != nil {
		return err
	}
	calls := func(m openai.ChatCompletionMessage) string {
		text := m.Content
		for _, t := range m.ToolCalls {
			text += "|" + t.Function.Name + t.Function.Arguments
		}
		return text
	}
	return same("the streamed answer", calls(got.Choices[0].Message), calls(whole.Choices[0].Message))
}

func (c openaiClient) completion(ctx context.Context) error {
	r, err := c.plain.Completions.New(ctx, openai.CompletionNewParams{Model: base, Echo: openai.Bool(true),
		Logprobs: openai.Int(1), MaxTokens: openai.Int(4), Seed: openai.Int(7),
		Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("3 + 4")}})
	if err != nil {
		return err
	}
	text := r.Choices[0].Text
	if len(text) < 5 || text[:5] != "3 + 4" {
		return fmt.Errorf("the text %q does not begin with the prompt", text)
	}
	return same("token_logprobs", int64(len(r.Choices[0].Logprobs.TokenLogprobs)), r.Usage.TotalTokens)
}

func (c openaiClient) models(ctx context.Context) error {
	pager := c.hosted.Models.ListAutoPaging(ctx)
	found := false
	for pager.Next() {
		found = found || pager.Current().ID == base
	}
	if pager.Err() != nil || !found {
		return fmt.Errorf("%q in the list: %v, %w", base, found, pager.Err())
	}
	m, err := c.hosted.Models.Get(ctx, base)
	if err != nil {
		return err
	}
	return same("owned_by", m.OwnedBy, "trinity")
}

func (c openaiClient) errors(ctx context.Context) error {
	for _, tt := range []struct {
		change func(*openai.ChatCompletionNewParams)
		status int
		code   string
	}{
		{func(p *openai.ChatCompletionNewParams) { p.Model = "absent" }, http.StatusNotFound, "model_not_found"},
		{func(p *openai.ChatCompletionNewParams) { p.MaxTokens = openai.Int(1_000_000) }, http.StatusBadRequest,
			"context_length_exceeded"},
		{func(p *openai.ChatCompletionNewParams) { p.PresencePenalty = openai.Float(3) }, http.StatusBadRequest, ""},
	} {
		params := asking()
		tt.change(&params)
		_, err := c.hosted.Chat.Completions.New(ctx, params)
		var e *openai.Error
		if !errors.As(err, &e) {
			return fmt.Errorf("%T %w is not the client's error", err, err)
		}
		if err := errors.Join(same("status", e.StatusCode, tt.status), same("code", e.Code, tt.code)); err != nil {
			return err
		}
	}
	return nil
}
