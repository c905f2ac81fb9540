package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// external is a model behind OpenAI's interface, which mode bench evaluates (model.external_model). That interface takes messages and gives
// text; workflows send tokens. So here a token is a byte: a prompt is its messages as JSON, an answer its text. Nothing can be trained on that,
// and nobody does.
type external struct {
	tinker.Service // none: bench asks for samples alone
	openAI
}

// buildExternal takes the place of the parts that know a model's folder.
func (b *job) buildExternal(ctx context.Context) error {
	if err := b.reachExternal(); err != nil {
		return err
	}
	b.identity = identity{Seed: chooseSeed(b.cfg), Date: b.Now().Truncate(time.Second)}
	if err := b.FS.MkdirAll(b.dir); err != nil {
		return fmt.Errorf("run: job directory: %w", err)
	}
	if err := b.lock(ctx); err != nil {
		return err
	}
	var err error
	b.progress, err = b.newProgress()
	return err
}

// reachExternal finds the model in the environment's variables that the configuration names.
func (b *job) reachExternal() error {
	e := b.cfg.Model.ExternalModel
	base, ok := b.LookupEnv(e.BaseURLEnv)
	if !ok || base == "" {
		return fmt.Errorf("run: model.external_model is reached through the environment variable %s, and it is not set; set it to an address such as http://127.0.0.1:8000/v1", e.BaseURLEnv)
	}
	key, _ := b.LookupEnv(e.APIKeyEnv)
	x := &external{openAI: openAI{url: completions(base), key: key, model: e.ModelName}}
	b.external, b.service, b.model = x, x, &baseModel{name: e.ModelName}
	return nil
}

// completions is the address of chat completions below a base address, with or without /v1 at its end.
func completions(base string) string {
	return strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/v1") + "/v1/chat/completions"
}

// externalBackend says what a run evaluates.
func externalBackend(c *config.Config) config.Backend {
	e := c.Model.ExternalModel
	return config.Backend{Kind: config.Server, Reason: fmt.Sprintf("evaluating %s behind the address in %s (model.external_model)", e.ModelName, e.BaseURLEnv)}
}

// Prompt implements workflow.Renderer.
func (*external) Prompt(messages []chat.Message) (string, []int32, error) {
	text, err := json.Marshal(chatMessages(messages))
	return string(text), byteTokens(text), err
}

// Encode implements workflow.Renderer.
func (*external) Encode(string) ([]int32, error) {
	return nil, errors.New("run: a model behind OpenAI's interface goes on with no text of its own, it answers messages; choose another workflow")
}

// Decode implements workflow.Renderer.
func (*external) Decode(tokens []int32) string {
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
func (x *external) SamplingClient(_ context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if req.ModelPath != "" {
		return nil, tinker.Userf("run: %s is a checkpoint of a job, and model.external_model is evaluated; use another name for the job", req.ModelPath)
	}
	return x, nil
}

// Sample implements tinker.SamplingClient.
func (x *external) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	tokens, ok := req.Prompt.Tokens()
	if !ok {
		return nil, errors.New("run: external model: a prompt that is no text")
	}
	var messages []chatMessage
	if err := json.Unmarshal([]byte(x.Decode(tokens)), &messages); err != nil {
		return nil, fmt.Errorf("run: external model: %w", err)
	}
	body := map[string]any{"messages": messages, "n": req.NumSamples, "temperature": req.Params.Temperature, "max_completion_tokens": req.Params.MaxTokens}
	if p := req.Params.TopP; p != 1 {
		body["top_p"] = p
	}
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	go func() {
		choices, err := x.complete(ctx, body)
		if err == nil && len(choices) != req.NumSamples {
			err = fmt.Errorf("%s: %d answers where %d were asked for; set repeat_times: 1 if the service gives one alone", x.url, len(choices), req.NumSamples)
		}
		var out tinker.SampleResponse
		for _, c := range choices {
			text := byteTokens([]byte(c.Message.Content))
			stop := tinker.StopStop
			if c.FinishReason == "length" {
				stop = tinker.StopLength
			}
			out.Sequences = append(out.Sequences, tinker.SampledSequence{Tokens: text, Logprobs: make([]float32, len(text)), StopReason: stop})
		}
		resolve(out, err)
	}()
	return f, nil
}
