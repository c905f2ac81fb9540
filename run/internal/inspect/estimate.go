package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Estimate reckons the budget. It renders some tasks as their workflow does; on the local engine it loads the model,
// runs some tasks with it and measures it for a moment. It asks no server anything.
func (in *Inspection) Estimate(ctx context.Context) (*budget.Budget, error) {
	b, err := in.reckon(ctx)
	if err != nil || in.Backend.Kind != config.Local {
		return b, err
	}
	return b, in.readModel(ctx, b)
}

// readModel reckons the memory, and measures rates and answers on an engine of its own.
func (in *Inspection) readModel(ctx context.Context, b *budget.Budget) error {
	conf, err := engine.Describe(in.Model.Dir)
	if err != nil {
		return err
	}
	base, err := in.BaseDtype()
	if err != nil {
		return err
	}
	conf = conf.InBase(base)
	b.Model, b.Memory = conf, conf.Memory(in.Memory, b.Samples, b.Length, in.Config.LoRA().Rank)
	if free := budget.FreeMemory(); in.Config.Model.RandomInit || free > 0 && b.Memory.Training() > free {
		return nil // nothing to load, or it would not fit
	}
	tmp, err := os.MkdirTemp("", "trinity-estimate-")
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer os.RemoveAll(tmp)
	o, err := service.EngineOptions(in.Job)
	if err != nil {
		return err
	}
	o.Dir = filepath.Join(tmp, "engine")
	e, err := engine.Open(o)
	if err != nil {
		return err
	}
	defer e.Close()
	return in.measure(ctx, b, e)
}

// measure finds rates and means on a service.
func (in *Inspection) measure(ctx context.Context, b *budget.Budget, s tinker.Service) (err error) {
	b.Rates, err = budget.Measure(ctx, s, budget.Work{Base: in.Model.Name, Vocab: b.Model.Vocab, Samples: b.Samples,
		Length: b.Length, LoRA: service.LoRA(in.Config)})
	if err != nil || b.Samples == 0 {
		return err
	}
	name := in.Config.Buffer.ExplorerInput.Training()[0].DefaultWorkflowType
	if _, own := in.Own.Workflows[name]; own || workflow.AsksService(in.train.Workflow) {
		return nil // what a program's own workflow does is not known, and a service may cost money
	}
	client, err := s.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: in.Model.Name})
	if err != nil {
		return err
	}
	in.Judge.Use(s)
	return in.plan().Pilot(ctx, b, client)
}

// Forecast measures the engine before a run that may be long and says how long it takes, so that no one starts a month
// on a CPU unknowingly. steps are to come. It is empty for a short run, whose steps tell soon enough.
func (in *Inspection) Forecast(ctx context.Context, e *engine.Engine, steps int) (string, error) {
	left, err := in.reckon(ctx)
	if err != nil {
		return "", ctx.Err() // what cannot be reckoned is not told
	}
	if left.Model, err = engine.Describe(in.Model.Dir); err != nil {
		return "", err
	}
	left.Steps = steps
	products := float64(left.Steps) * float64(left.Model.Parameters) * float64(2*left.MaxSampled+4*left.MaxTrained)
	if products < longRun {
		return "", nil
	}
	if err := in.measure(ctx, left, e); err != nil {
		return "", fmt.Errorf("run: measuring the engine: %w", err)
	}
	if busy := left.Rates.Busy(); busy != "" {
		return left.Duration() + "; " + busy, nil
	}
	return left.Duration(), nil
}

// longRun is the floating-point operations of some minutes on a small machine.
const longRun = 2e13

// reckon counts steps and tokens; nothing is sampled.
func (in *Inspection) reckon(ctx context.Context) (*budget.Budget, error) {
	if len(in.unknown) > 0 {
		return nil, errors.New(strings.Join(in.unknown, "; "))
	}
	out := &budget.Budget{Steps: in.steps}
	switch m := in.Config.Mode; {
	case m == config.Train && in.examples != nil:
		return out, out.CountExamples(in.examples, in.Config.Buffer.TrainBatchSize)
	case m == config.Train:
		return nil, errors.New("run: experiences that another process writes cannot be counted in advance")
	case in.External != nil:
		return nil, errors.New("run: a model behind OpenAI's interface counts tokens of its own")
	case m.Explores() && m != config.Bench && in.train.Tasks == nil:
		return nil, errors.New("run: the tasks are not prepared yet")
	case m.Explores() && m != config.Bench:
		return out, in.plan().Count(ctx, out)
	}
	return nil, fmt.Errorf("run: the amount of work in mode %s depends on the requests that arrive", in.Config.Mode)
}

// plan is the part of a run that explores, for the budget.
func (in *Inspection) plan() *budget.Plan {
	cfg := in.Config
	p := &budget.Plan{Tasks: in.train, Steps: in.explored, Batch: cfg.Buffer.BatchSize,
		Repeat: cfg.Algorithm.RepeatTimes, Longest: engine.DefaultContext, Rows: in.tasks.Rows()}
	if cfg.Mode.Trains() {
		p.TrainBatch = cfg.Buffer.TrainBatchSize
	}
	if n := cfg.Model.MaxModelLen; n != nil {
		p.Longest = *n
	}
	return p
}

// prompt is the first prompt of a task's workflow.
func (in *Inspection) prompt(ctx context.Context, t workflow.Task) ([]int32, error) {
	return budget.Prompt(ctx, in.train, t)
}
