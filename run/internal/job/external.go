package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// External is the model that mode bench evaluates behind OpenAI's interface, as a tinker.Service and a
// workflow.Renderer. Chat completions take messages and give text; workflows send tokens. So here a token is a byte: a
// prompt is its messages as JSON, an answer its text. Nothing can be trained on that.
type External struct {
	tinker.Service // none: mode bench only asks for samples
	ChatClient
}

// ReachExternal finds the model behind the address in one environment variable, with or without /v1 at its end, and the
// key in another.
func ReachExternal(lookup func(string) (string, bool), model, urlEnv, keyEnv string) (*External, error) {
	base, ok := lookup(urlEnv)
	if !ok || base == "" {
		return nil, fmt.Errorf("run: model.external_model is reached through the environment variable %s, which is "+
			"not set; set it to an address such as http://127.0.0.1:8000/v1", urlEnv)
	}
	key, _ := lookup(keyEnv)
	return &External{ChatClient: ChatClient{URL: completions(base), Key: key, Model: model}}, nil
}

// completions is the address of chat completions below a base address, with or without /v1 at its end.
func completions(base string) string {
	return strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1") + "/v1/chat/completions"
}

// Prompt implements workflow.Renderer.
func (*External) Prompt(messages []chat.Message) (string, []int32, error) {
	text, err := json.Marshal(wireMessages(messages))
	return string(text), byteTokens(text), err
}

// Encode implements workflow.Renderer.
func (*External) Encode(string) ([]int32, error) {
	return nil, errors.New("run: a model behind OpenAI's interface cannot continue a text; it answers " +
		"messages; choose another workflow")
}

// Decode implements workflow.Renderer.
func (*External) Decode(tokens []int32) string {
	text := make([]byte, len(tokens))
	for i, t := range tokens {
		text[i] = byte(t)
	}
	return string(text)
}

func byteTokens(text []byte) []int32 {
	tokens := make([]int32, len(text))
	for i, c := range text {
		tokens[i] = int32(c)
	}
	return tokens
}

// SamplingClient implements tinker.Service.
func (x *External) SamplingClient(_ context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if req.ModelPath != "" {
		return nil, tinker.Userf("run: %s is a checkpoint of a job, and model.external_model is evaluated; use "+
			"another name for the job", req.ModelPath)
	}
	return x, nil
}

// Sample implements tinker.SamplingClient.
func (x *External) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse],
	error) {
	tokens, ok := req.Prompt.Tokens()
	if !ok {
		return nil, errors.New("run: external model: the prompt is not text")
	}
	var messages []ChatMessage
	if err := json.Unmarshal([]byte(x.Decode(tokens)), &messages); err != nil {
		return nil, fmt.Errorf("run: external model: %w", err)
	}
	body := map[string]any{"messages": messages, "n": req.NumSamples, "temperature": req.Params.Temperature,
		"max_completion_tokens": req.Params.MaxTokens}
	if p := req.Params.TopP; p != 1 {
		body["top_p"] = p
	}
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	go func() {
		choices, err := x.complete(ctx, body)
		if err == nil && len(choices) != req.NumSamples {
			err = fmt.Errorf("%s: %d answers where %d were asked for; set repeat_times: 1 if the service gives one "+
				"alone", x.URL, len(choices), req.NumSamples)
		}
		var out tinker.SampleResponse
		for _, c := range choices {
			text := byteTokens([]byte(c.Message.Content))
			stop := tinker.StopStop
			if c.FinishReason == "length" {
				stop = tinker.StopLength
			}
			out.Sequences = append(out.Sequences,
				tinker.SampledSequence{Tokens: text, Logprobs: make([]float32, len(text)), StopReason: stop})
		}
		resolve(out, err)
	}()
	return f, nil
}
