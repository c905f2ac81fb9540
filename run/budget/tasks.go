package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// lookAt is how many tasks are rendered to learn how long prompts are, and readAll up to how many rows of sft and dpo
// are all read.
const (
	lookAt  = 64
	readAll = 1024
)

// CountExamples measures rows of sft or dpo as they are trained on: all, or some of many.
func (b *Budget) CountExamples(s *supervised.Examples, batch int) error {
	b.Rows = s.Rows.Len()
	n := b.Rows
	if n > readAll {
		n = lookAt
	}
	sum := 0
	for i := range n {
		row, err := s.Row(dataset.Item{Index: i * b.Rows / n})
		if err != nil {
			return err
		}
		for _, e := range row {
			sum += len(e.Tokens)
			b.Longest = max(b.Longest, len(e.Tokens))
			b.Looked++
		}
	}
	perRow := b.Looked / max(1, n)
	most := b.Longest
	if n < b.Rows && s.MaxTokens > 0 {
		most = s.MaxTokens
	}
	b.Prompt = roundDiv(sum, b.Looked)
	b.Trained = int64(math.Round(float64(batch) * float64(perRow) * float64(sum) / float64(max(1, b.Looked))))
	b.MaxTrained, b.Length = int64(batch)*int64(perRow)*int64(most), most
	return nil
}

func roundDiv(a, b int) int { return (a + b/2) / max(1, b) }

// Plan says what a run explores and trains on.
type Plan struct {
	Tasks      explorer.Taskset
	Rows       int
	Steps      int // explore steps
	Batch      int // tasks of one
	Repeat     int // samples of a task
	TrainBatch int // experiences of a train step; 0: nothing is trained
	Longest    int // tokens of a sequence at most, where the tasks do not bound it
}

// Count renders some tasks as their workflow does, and bounds what a step comes to.
func (p *Plan) Count(ctx context.Context, b *Budget) error {
	b.Rows = p.Rows
	tasks, err := p.some(lookAt)
	if err != nil {
		return err
	}
	sum := 0
	for _, t := range tasks {
		ids, perr := Prompt(ctx, p.Tasks, t)
		if perr != nil { // a row that a run leaves out
			err = perr
			continue
		}
		sum, b.Longest, b.Looked = sum+len(ids), max(b.Longest, len(ids)), b.Looked+1
	}
	if b.Looked == 0 {
		return err
	}
	b.Prompt = roundDiv(sum, b.Looked)
	b.Samples = p.Batch * p.Repeat
	most := p.most()
	b.Length = most.Prompt + most.Response
	b.MaxSampled = int64(b.Samples) * int64(most.Sampled)
	b.MaxTrained = int64(p.TrainBatch) * int64(b.Length)
	return nil
}

// most bounds one repetition of any task.
func (p *Plan) most() workflow.Bound {
	bound := workflow.Bound{}
	add := func(w workflow.Workflow, r workflow.Rollout) {
		prompt, answer := p.Longest, p.Longest
		if r.MaxPrompt > 0 {
			prompt = r.MaxPrompt
		}
		if r.Params.MaxTokens > 0 {
			answer = r.Params.MaxTokens
		}
		one := workflow.Most(w, &r, prompt, answer)
		bound.Experiences = max(bound.Experiences, one.Experiences)
		bound.Prompt, bound.Response = max(bound.Prompt, one.Prompt), max(bound.Response, one.Response)
		bound.Sampled = max(bound.Sampled, one.Sampled)
	}
	add(p.Tasks.Workflow, p.Tasks.Rollout)
	for _, v := range p.Tasks.Variants {
		add(v.Workflow, v.Rollout)
	}
	return bound
}

// some are n tasks of steps all over the run, or fewer if it has not as many.
func (p *Plan) some(n int) (list []workflow.Task, err error) {
	batch, steps := p.Batch, p.Steps
	n = min(n, steps*batch)
	perStep := (n + steps - 1) / max(1, steps)
	for i := 0; i < n; {
		tasks, err := p.Tasks.Tasks.Batch(1+i*steps/n, batch)
		if err != nil {
			return nil, err
		}
		for j := 0; j < perStep && i < n; j++ {
			t := tasks[i*len(tasks)/n]
			t.Batch, t.ID, t.Repeat, t.Seed = "estimate", fmt.Sprint(i), 1, uint64(i)
			list = append(list, t)
			i++
		}
	}
	return list, nil
}

// errSeen ends a workflow whose first prompt has been seen.
var errSeen = errors.New("budget: the prompt was seen")

// seeing is a sampler that looks at the first prompt and answers nothing.
type seeing struct {
	once sync.Once
	ids  []int32
}

// Sample implements tinker.SamplingClient.
func (s *seeing) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	s.once.Do(func() { s.ids, _ = req.Prompt.Tokens() })
	return nil, errSeen
}

// Prompt is the first prompt of a task's workflow. For a program outside, which makes its own prompts of the row, it is
// the row; for a workflow in another language the row's prompt, or the row if it has none.
func Prompt(ctx context.Context, set explorer.Taskset, t workflow.Task) ([]int32, error) {
	s := &seeing{}
	w, r := set.Way(t)
	if workflow.Outside(w) {
		row, err := t.Row.MarshalJSON()
		if err != nil {
			return nil, err
		}
		return r.Renderer.Encode(string(row))
	}
	if _, foreign := w.(workflow.Foreign); foreign {
		return foreignPrompt(&r, t)
	}
	r.Sampler = s
	t.Repeat = 1
	list, err := w.Run(ctx, &r, t)
	switch {
	case s.ids != nil:
		return s.ids, nil
	case err != nil:
		return nil, err
	case len(list) > 0: // an over-long prompt, which is not sent to the model
		return list[0].Tokens, nil
	}
	return nil, errors.New("budget: the workflow asks nothing")
}

// foreignPrompt is a guess at what a workflow in another language asks.
func foreignPrompt(r *workflow.Rollout, t workflow.Task) ([]int32, error) {
	text := t.Prompt
	if text == "" {
		row, err := t.Row.MarshalJSON()
		if err != nil {
			return nil, err
		}
		text = string(row)
	}
	var messages []chat.Message
	if r.SystemPrompt != "" {
		messages = append(messages, chat.Message{Role: "system", Content: r.SystemPrompt})
	}
	_, ids, err := r.Renderer.Prompt(append(messages, chat.Message{Role: "user", Content: text}))
	return ids, err
}
