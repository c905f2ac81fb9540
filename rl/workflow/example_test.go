package workflow_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

const modelDir = "../../examples/tiny/model"

// thinkFirst samples answers as workflow.Simple does, and adds to the reward of those that show their steps.
type thinkFirst struct{}

// Run implements workflow.Workflow.
func (thinkFirst) Run(ctx context.Context, r *workflow.Rollout, t workflow.Task) ([]*experience.Experience, error) {
	list, err := workflow.Simple{}.Run(ctx, r, t)
	for _, e := range list {
		if !strings.Contains(e.ResponseText, "<think></think>") {
			e.Metrics["thinks"] = 1
			e.SetReward(e.RewardOr(0) + 0.1)
		}
	}
	return list, err
}

// renderer is a model's tokenizer and chat template.
type renderer struct {
	tokenizer *tokenizer.Tokenizer
	template  *chat.Template
}

func (r renderer) Prompt(messages []chat.Message) (string, []int32, error) {
	text, err := r.template.Render(messages, chat.Options{AddGenerationPrompt: true})
	return text, r.tokenizer.Encode(text, false), err
}

func (r renderer) Encode(text string) ([]int32, error) { return r.tokenizer.Encode(text, false), nil }
func (r renderer) Decode(tokens []int32) string        { return r.tokenizer.Decode(tokens, true) }

func newRenderer() (r renderer, err error) {
	if r.tokenizer, err = tokenizer.Load(modelDir); err != nil {
		return r, err
	}
	config, err := tokenizer.LoadConfig(modelDir)
	if err != nil {
		return r, err
	}
	r.template, err = chat.New(config.ChatTemplate, config, time.Time{})
	return r, err
}

// A workflow turns a task into experiences: it asks the model and gives rewards. In a run, trinity makes the Rollout
// from the configuration; run.Plugins brings a workflow in.
func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 8 experiences, every one with a reward: true
	// each has a logprob for each token that was sampled: true
	// some show their steps: true
}

func example() error {
	render, err := newRenderer()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "workflow-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(engine.Options{Dir: dir, Models: map[string]engine.Model{
		"tiny": {Dir: modelDir, Tokens: render.tokenizer}}})
	if err != nil {
		return err
	}
	defer e.Close()
	sampler, err := e.SamplingClient(context.Background(), tinker.SamplingClientRequest{BaseModel: "tiny"})
	if err != nil {
		return err
	}

	r := &workflow.Rollout{Sampler: sampler, Renderer: render, Params: tinker.DefaultSampling(), Reward: reward.Math,
		RewardName: "math_reward", SystemPrompt: "Think, then answer."}
	r.Params.MaxTokens = 50
	task := workflow.Task{Prompt: "Kate keeps 12 ribbons at home. Will takes 5 of them. What is the number of " +
		"ribbons now?", Truth: "7", Repeat: 8, Seed: 1}
	list, err := thinkFirst{}.Run(context.Background(), r, task)
	if err != nil {
		return err
	}
	graded, whole, thinking := true, true, 0.0
	for _, e := range list {
		graded = graded && e.Reward != nil
		whole = whole && len(e.Logprobs) == len(e.Response())
		thinking += e.Metrics["thinks"]
	}
	fmt.Println(len(list), "experiences, every one with a reward:", graded)
	fmt.Println("each has a logprob for each token that was sampled:", whole)
	fmt.Println("some show their steps:", thinking > 0)
	return nil
}
