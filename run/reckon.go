package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// lookAt is how many tasks are rendered to learn how long prompts are, and readAll up to how many rows of sft and dpo are all read.
const (
	lookAt  = 64
	readAll = 1024
)

// reckon counts steps and tokens; nothing is sampled.
func (in *Inspection) reckon(ctx context.Context) (*Budget, error) {
	b := in.job
	if len(in.Unknown) > 0 {
		return nil, errors.New(strings.Join(in.Unknown, "; "))
	}
	budget := &Budget{Steps: in.steps}
	switch m := b.cfg.Mode; {
	case m == config.Train && in.examples != nil:
		return budget, budget.readExamples(in.examples, b.cfg.Buffer.TrainBatchSize)
	case m == config.Train:
		return nil, errors.New("run: experiences that another process writes cannot be counted before they are there")
	case b.external != nil:
		return nil, errors.New("run: a model behind OpenAI's interface counts tokens of its own")
	case m.Explores() && m != config.Bench && in.train.Tasks == nil:
		return nil, errors.New("run: the tasks are not prepared yet")
	case m.Explores() && m != config.Bench:
		return budget, budget.readTasks(ctx, in)
	}
	return nil, fmt.Errorf("run: how much mode %s does is for those to say who ask it", b.cfg.Mode)
}

// readExamples measures rows of sft or dpo as they are trained on: all, or some of many.
func (b *Budget) readExamples(s *examples, batch int) error {
	b.Rows = s.rows.Len()
	n := b.Rows
	if n > readAll {
		n = lookAt
	}
	sum := 0
	for i := range n {
		row, err := s.row(dataset.Item{Index: i * b.Rows / n})
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
	if n < b.Rows && s.maxLen > 0 {
		most = s.maxLen
	}
	b.Prompt = roundDiv(sum, b.Looked)
	b.Trained = int64(math.Round(float64(batch) * float64(perRow) * float64(sum) / float64(max(1, b.Looked))))
	b.MaxTrained, b.Length = int64(batch)*int64(perRow)*int64(most), most
	return nil
}

func roundDiv(a, b int) int { return (a + b/2) / max(1, b) }

// readTasks renders some tasks as their workflow does, and bounds what a step comes to.
func (b *Budget) readTasks(ctx context.Context, in *Inspection) error {
	cfg := in.job.cfg
	for _, set := range in.tasks.sets {
		b.Rows += set.rows.Len()
	}
	tasks, err := in.someTasks(lookAt)
	if err != nil {
		return err
	}
	sum := 0
	for _, t := range tasks {
		p, perr := in.prompt(ctx, t)
		if perr != nil { // a row that a run leaves out
			err = perr
			continue
		}
		sum, b.Longest, b.Looked = sum+len(p), max(b.Longest, len(p)), b.Looked+1
	}
	if b.Looked == 0 {
		return err
	}
	b.Prompt = roundDiv(sum, b.Looked)
	b.Samples = cfg.Buffer.BatchSize * cfg.Algorithm.RepeatTimes
	most := in.most()
	b.Length = most.Prompt + most.Response
	b.MaxSampled = int64(b.Samples) * int64(most.Sampled)
	if cfg.Mode.Trains() {
		b.MaxTrained = int64(cfg.Buffer.TrainBatchSize) * int64(b.Length)
	}
	return nil
}

// most bounds one repetition of any task.
func (in *Inspection) most() workflow.Bound {
	cfg := in.job.cfg
	whole := engine.DefaultContext
	if n := cfg.Model.MaxModelLen; n != nil {
		whole = *n
	}
	bound := workflow.Bound{}
	add := func(w workflow.Workflow, r workflow.Rollout) {
		prompt, answer := whole, whole
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
	add(in.train.Workflow, in.train.Rollout)
	for _, v := range in.train.Variants {
		add(v.Workflow, v.Rollout)
	}
	return bound
}

// someTasks are n tasks of steps all over the run, or fewer if it has not as many.
func (in *Inspection) someTasks(n int) (list []workflow.Task, err error) {
	batch, steps := in.job.cfg.Buffer.BatchSize, in.explored
	n = min(n, steps*batch)
	perStep := (n + steps - 1) / max(1, steps)
	for i := 0; i < n; {
		tasks, err := in.train.Tasks.Batch(1+i*steps/n, batch)
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
var errSeen = errors.New("run: the prompt was seen")

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

// prompt is what a task's workflow asks first.
func (in *Inspection) prompt(ctx context.Context, t workflow.Task) ([]int32, error) {
	s := &seeing{}
	w, r := in.train.Way(t)
	r.Sampler = s
	t.Repeat = 1
	list, err := w.Run(ctx, &r, t)
	switch {
	case s.ids != nil:
		return s.ids, nil
	case err != nil:
		return nil, err
	case len(list) > 0: // an over-long prompt, which nobody is asked
		return list[0].Tokens, nil
	}
	return nil, errors.New("run: the workflow asks nothing")
}
