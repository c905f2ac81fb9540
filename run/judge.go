package run

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// judge is the first of explorer.auxiliary_models, asked about answers. It speaks with its own tokenizer and chat
// template.
type judge struct {
	job   *job
	conf  config.InferenceModel
	model *baseModel
	stops []int32

	mu     sync.Mutex
	client tinker.SamplingClient // nil until it is first asked
}

// buildJudge finds the judge if a taskset's workflow asks one.
func (b *job) buildJudge(ctx context.Context) error {
	in := b.cfg.Buffer.ExplorerInput
	asks := func(t config.Taskset) bool { return workflow.Judged(t.DefaultWorkflowType) }
	if !b.cfg.Mode.Explores() || !slices.ContainsFunc(slices.Concat(in.Training(), in.EvalTasksets), asks) {
		return nil
	}
	if len(b.cfg.Explorer.AuxiliaryModels) == 0 {
		return nil // the workflow says what is missing
	}
	conf := b.cfg.Explorer.AuxiliaryModels[0]
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	dir, err := FindModel(ctx, conf.ModelPath, b.Find, b.Hub)
	if err != nil {
		return fmt.Errorf("run: judge: %w", err)
	}
	j := &judge{job: b, conf: conf, model: &baseModel{name: conf.ModelPath, dir: dir, thinking: conf.EnableThinking}}
	if j.model.tokenizer, err = tokenizer.Load(dir); err != nil {
		return fmt.Errorf("run: judge: %w", err)
	}
	tc, err := tokenizer.LoadConfig(dir)
	if err != nil {
		return fmt.Errorf("run: judge: %w", err)
	}
	text := conf.ChatTemplate
	if text == "" {
		text = tc.ChatTemplate
	}
	if j.model.template, err = chat.New(text, tc, b.identity.Date); err != nil {
		return fmt.Errorf("run: judge: %w", err)
	}
	if j.stops, err = j.model.template.StopIDs(j.model.tokenizer); err != nil {
		return fmt.Errorf("run: judge: %w", err)
	}
	b.judge = j
	return nil
}

// served is what the local engine must serve for the judge.
func (j *judge) served() map[string]engine.Model {
	if j == nil || j.model.name == j.job.model.name {
		return nil
	}
	return map[string]engine.Model{j.model.name: {Dir: j.model.dir, Tokens: j.model.tokenizer, EndTokens: j.stops}}
}

// open makes the judge's sampler when it is first needed.
func (j *judge) open(ctx context.Context) (tinker.SamplingClient, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.client != nil {
		return j.client, nil
	}
	c, err := j.job.service.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: j.model.name})
	if err == nil {
		j.client = c
	}
	return c, err
}

// Ask implements workflow.Judge.
func (j *judge) Ask(ctx context.Context, messages []chat.Message, temperature float64, seed uint64) (string, error) {
	c, err := j.open(ctx)
	if err != nil {
		return "", err
	}
	_, prompt, err := j.model.Prompt(messages)
	if err != nil {
		return "", err
	}
	p := tinker.DefaultSampling()
	p.Temperature, p.Seed, p.StopTokens = temperature, &seed, j.stops
	if n := j.conf.MaxResponseTokens; n != nil {
		p.MaxTokens = *n
	}
	r, err := tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1, Params: p})
	if err != nil {
		return "", err
	}
	return j.model.Decode(r.Sequences[0].Tokens), nil
}

// judges is the judge as workflows get it.
func (b *job) judges() []workflow.Judge {
	if b.judge == nil {
		return nil
	}
	return []workflow.Judge{b.judge}
}
