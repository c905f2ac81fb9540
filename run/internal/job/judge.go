package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Judge is the first of explorer.auxiliary_models, asked about answers. It speaks with its own tokenizer and chat
// template. It implements workflow.Judge.
type Judge struct {
	others []*Judge // the further auxiliary models, which plug-ins may ask

	Model *Model
	Most  *int // tokens of an answer; nil: as many as the service allows
	stops []int32

	mu      sync.Mutex
	service tinker.Service        // to be asked at
	client  tinker.SamplingClient // nil until it is first asked
}

// FindJudge finds the judge if a taskset's workflow may ask one, else nil. Templates are told date.
func (j *Job) FindJudge(ctx context.Context, date time.Time) (*Judge, error) {
	in := j.Config.Buffer.ExplorerInput
	named := func(t config.Taskset) bool { return t.Format.WorkflowKey != "" } // rows name any workflow
	asks := func(t config.Taskset) bool {
		_, theirs := j.Own.Workflows[t.DefaultWorkflowType].(workflow.Foreign)
		return theirs || named(t) || workflow.Judged(t.DefaultWorkflowType)
	}
	operates := slices.ContainsFunc(j.Config.DataProcessor.ExperiencePipeline.Operators,
		func(o config.Operator) bool { return j.Operators[o.Name] != nil })
	tasksets := slices.Concat(in.Training(), in.EvalTasksets)
	if !j.Config.Mode.Explores() || !operates && !slices.ContainsFunc(tasksets, asks) {
		return nil, nil
	}
	if len(j.Config.Explorer.AuxiliaryModels) == 0 {
		return nil, nil // the workflow says what is missing
	}
	list := make([]*Judge, len(j.Config.Explorer.AuxiliaryModels))
	for i, conf := range j.Config.Explorer.AuxiliaryModels {
		if i > 0 && !operates && !slices.ContainsFunc(tasksets, func(t config.Taskset) bool {
			return named(t) || j.Own.Workflows[t.DefaultWorkflowType] != nil
		}) {
			break // workflows of this program ask the first alone
		}
		var err error
		if list[i], err = j.openJudge(ctx, conf, date); err != nil {
			return nil, fmt.Errorf("run: judge: %w", err)
		}
		if i > 0 {
			list[0].others = append(list[0].others, list[i])
		}
	}
	return list[0], nil
}

func (j *Job) openJudge(ctx context.Context, conf config.InferenceModel, date time.Time) (*Judge, error) {
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	dir, err := j.ModelFolder(ctx, conf.ModelPath)
	if err != nil {
		return nil, err
	}
	m := &Model{Name: conf.ModelPath, Dir: dir, Thinking: conf.EnableThinking}
	if m.Tokenizer, err = tokenizer.Load(dir); err != nil {
		return nil, err
	}
	tc, err := tokenizer.LoadConfig(dir)
	if err != nil {
		return nil, err
	}
	text := cmp.Or(conf.ChatTemplate, tc.ChatTemplate)
	if m.Template, err = chat.New(text, tc, date); err != nil {
		return nil, err
	}
	judge := &Judge{Model: m, Most: conf.MaxResponseTokens}
	judge.stops, err = m.Template.StopIDs(m.Tokenizer)
	return judge, err
}

// Served lists the models that the local engine must serve for the judge beside the model trained. j may be nil.
func (j *Judge) Served(trained string) map[string]engine.Model {
	served := map[string]engine.Model{}
	for _, j := range j.all() {
		if j.Model.Name != trained {
			served[j.Model.Name] = engine.Model{Dir: j.Model.Dir, Tokens: j.Model.Tokenizer, EndTokens: j.stops}
		}
	}
	return served
}

// all are the judge and the auxiliary models after it. j may be nil.
func (j *Judge) all() []*Judge {
	if j == nil {
		return nil
	}
	return append([]*Judge{j}, j.others...)
}

// Names are the names of List's models. j may be nil.
func (j *Judge) Names() (list []string) {
	for _, one := range j.all() {
		list = append(list, one.Model.Name)
	}
	return list
}

// Use says which service has the judge's model. j may be nil.
func (j *Judge) Use(s tinker.Service) {
	for _, one := range j.all() {
		one.service = s
	}
}

// List is the judge as workflows get it. j may be nil.
func (j *Judge) List() (list []workflow.Judge) {
	for _, one := range j.all() {
		list = append(list, one)
	}
	return list
}

// open makes the judge's sampler when it is first needed.
func (j *Judge) open(ctx context.Context) (tinker.SamplingClient, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.client != nil {
		return j.client, nil
	}
	c, err := j.service.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: j.Model.Name})
	if err == nil {
		j.client = c
	}
	return c, err
}

// Ask implements workflow.Judge.
func (j *Judge) Ask(ctx context.Context, messages []chat.Message, temperature float64, seed uint64) (string, error) {
	c, err := j.open(ctx)
	if err != nil {
		return "", err
	}
	_, prompt, err := j.Model.Prompt(messages)
	if err != nil {
		return "", err
	}
	p := tinker.DefaultSampling()
	p.Temperature, p.Seed, p.StopTokens = temperature, &seed, j.stops
	if n := j.Most; n != nil {
		p.MaxTokens = *n
	}
	r, err := tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1, Params: p})
	if err != nil {
		return "", err
	}
	return j.Model.Decode(r.Sequences[0].Tokens), nil
}

// Logprobs are those that the judge's model gives each token but the first, at temperature 1.
func (j *Judge) Logprobs(ctx context.Context, tokens []int32) ([]float32, error) {
	c, err := j.open(ctx)
	if err != nil || len(tokens) < 2 {
		return nil, err
	}
	p, seed := tinker.DefaultSampling(), uint64(0)
	p.MaxTokens, p.Seed = 1, &seed
	r, err := tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: tinker.Text(tokens), NumSamples: 1, Params: p,
		PromptLogprobs: true})
	if err != nil {
		return nil, err
	}
	if len(r.PromptLogprobs) != len(tokens) {
		return nil, fmt.Errorf("run: the service gave %d logprobs for %d tokens", len(r.PromptLogprobs), len(tokens))
	}
	return r.PromptLogprobs[1:], nil
}
