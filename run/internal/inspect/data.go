package inspect

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/monitor/sink"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/taskprep"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/place"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/prepare"
)

// lookAtIdle notes what is given and read by nobody.
func (in *Inspection) lookAtIdle() {
	for _, note := range sink.Idle(in.cfg.Monitor.MonitorType, in.cfg.Monitor.MonitorArgs) {
		in.notes.Add(note)
	}
	eb := in.cfg.Buffer.TrainerInput.ExperienceBuffer
	if eb == nil || in.method == nil || in.method.Schema != "experience" {
		return
	}
	for _, key := range []string{"image_key", "video_key"} { // that tell a data set with pictures
		if key := "buffer.trainer_input.experience_buffer.format." + key; in.cfg.Given(key) {
			in.notes.Add(key + " is not used: experiences have no columns; the format of the taskset counts")
		}
	}
}

// lookAtPipelines makes the operators of both pipelines.
func (in *Inspection) lookAtPipelines(ctx context.Context) {
	if in.cfg.Mode != config.Train {
		_, err := plan.Operators(in.cfg, in.site.Own.Operators)
		in.add("data_processor.experience_pipeline.operators", err)
	}
	in.prepared = true
	schema := ""
	if in.method != nil {
		schema = in.method.Schema
	}
	p := prepare.Of(in.cfg, schema, in.site)
	if p.Conf == nil || !in.add(prepare.Key, p.Check()) {
		return
	}
	for i, o := range p.Conf.Operators {
		_, err := taskprep.New(o.Name, o.Args, p.Surroundings())
		key := fmt.Sprintf("%s.operators[%d]", prepare.Key, i)
		in.add(key+".name", place.AtArgs(key+".args", err))
	}
	if in.method == nil {
		return
	}
	done, err := p.Done()
	in.prepared = in.add(prepare.Key+".output.path", err) && done
	for i, path := range p.Conf.Inputs {
		rows, err := in.site.Rows(ctx, path, "", "train")
		if err == nil {
			err = rows.Close()
		}
		in.add(fmt.Sprintf("%s.inputs[%d]", prepare.Key, i), in.absent(path, err))
	}
}

// lookAtData opens what is trained and evaluated on, and plans how it is read.
func (in *Inspection) lookAtData(ctx context.Context) {
	plans := in.cfg.Mode != config.Bench && !in.cfg.Mode.Serves()
	switch {
	case !in.prepared && plans: // the tasks are made first
		in.lookAtNames()
		in.lookAtInputs(ctx)
		plans = false
	case in.cfg.Mode == config.Train:
		plans = in.lookAtExamples(ctx) && plans
	case in.cfg.Mode.Explores() && in.cfg.Mode != config.Bench:
		plans = in.lookAtTasks(ctx) && plans
	}
	if in.cfg.Mode.Explores() {
		for i := range in.cfg.Buffer.ExplorerInput.EvalTasksets {
			t := &in.cfg.Buffer.ExplorerInput.EvalTasksets[i]
			key := fmt.Sprintf("buffer.explorer_input.eval_tasksets[%d]", i)
			_, err := in.data(in.cfg).EvalTaskset(ctx, t, key)
			in.add(key, in.absent(t.Path, err))
		}
	}
	if plans {
		in.lookAtPlan(ctx)
	}
}

// lookAtTasks builds the tasksets that are trained on.
func (in *Inspection) lookAtTasks(ctx context.Context) bool {
	missing := false
	for i, t := range in.cfg.Buffer.ExplorerInput.Training() {
		if t.StorageType != "file" || verifiers.Is(t.Path) {
			continue
		}
		rows, err := in.site.Rows(ctx, t.Path, t.SubsetName, t.Split)
		if err == nil {
			err = rows.Close()
		}
		missing = !in.add(data.TasksetKey(in.cfg, i)+".path", in.absent(t.Path, err)) || missing
	}
	if missing { // the names that it gives can be looked up all the same
		for i, t := range in.cfg.Buffer.ExplorerInput.Training() {
			_, _, err := in.data(in.cfg).Workflow(&t, data.TasksetKey(in.cfg, i))
			in.add(data.TasksetKey(in.cfg, i), err)
		}
		return false
	}
	var err error
	in.train, in.tasks, in.explored, err = in.data(in.cfg).TrainTasksets(ctx)
	return in.add("buffer.explorer_input.taskset", err) && in.lookAtFirstStep(ctx)
}

// lookAtFirstStep refuses what fails all tasks of the first step before or after their samples, whatever the model
// answers: then the run ends there. Workflows and rewards that a program brings are left alone.
func (in *Inspection) lookAtFirstStep(ctx context.Context) bool {
	tasks, err := in.train.Tasks.Batch(1, in.cfg.Buffer.BatchSize)
	if err != nil || len(tasks) == 0 {
		return in.add("buffer.explorer_input.taskset", err)
	}
	var first error
	for _, t := range tasks {
		err := in.try(ctx, t)
		if err == nil {
			return true
		}
		first = cmp.Or(first, err)
	}
	_, key := in.tasks.Set(tasks[0].Taskset)
	return in.add(key, fmt.Errorf("each of the %d tasks of the first step fails: %w", len(tasks), first))
}

// try asks a task's prompt and grades an empty answer.
func (in *Inspection) try(ctx context.Context, t workflow.Task) error {
	own := in.site.Own
	_, r := in.train.Way(t)
	set, key := in.tasks.Set(t.Taskset)
	_, theirs := own.Workflows[set.DefaultWorkflowType]
	if theirs || len(in.train.Variants) > 0 && len(own.Workflows) > 0 {
		return nil
	}
	t.Batch, t.ID = "inspection", "0"
	if _, err := in.prompt(ctx, t); err != nil {
		return err
	}
	if _, theirs := own.Rewards[r.RewardName]; theirs || r.Reward == nil {
		return nil
	}
	_, err := r.Reward(reward.Sample{Prompt: t.Prompt, Truth: t.Truth, ResponseTokens: []int32{0}, Args: r.RewardArgs})
	if err != nil {
		err = fmt.Errorf("reward %s: %w", r.RewardName, err)
	}
	return place.AtArgs(key+".reward_fn_args", err)
}

// lookAtInputs lets what goes into the task pipeline stand for what will come out of it, so that there is something to
// reckon with. What does not fit is not a mistake: the pipeline may mend it.
func (in *Inspection) lookAtInputs(ctx context.Context) {
	if in.cfg.Mode == config.Train {
		return
	}
	cfg := *in.cfg
	cfg.Buffer.ExplorerInput.Taskset, cfg.Buffer.ExplorerInput.Tasksets = nil, nil
	for i, t := range in.cfg.Buffer.ExplorerInput.Training() {
		cfg.Buffer.ExplorerInput.Tasksets = append(cfg.Buffer.ExplorerInput.Tasksets,
			prepare.Before(in.cfg, in.site, i, t)...)
	}
	train, tasks, steps, err := in.data(&cfg).TrainTasksets(ctx)
	if err == nil {
		in.train, in.tasks, in.explored = train, tasks, steps
		in.steps = plan.Steps(in.cfg, in.method, steps)
	}
}

// lookAtExamples opens the data set that is trained on, if it is one.
func (in *Inspection) lookAtExamples(ctx context.Context) bool {
	eb := in.cfg.Buffer.TrainerInput.ExperienceBuffer
	const key = "buffer.trainer_input.experience_buffer"
	if in.method.Schema == "experience" {
		if eb == nil || eb.StorageType != "sql" {
			in.add(key+".storage_type", fmt.Errorf("mode train with algorithm %s reads the experiences of an "+
				"explorer in another process; set storage_type: sql", in.cfg.Algorithm.Type))
		}
		return false // their number is not known in advance
	}
	s, err := in.data(in.cfg).Train(ctx, buffer.Position{})
	if !in.add(key, in.absent(eb.Path, err)) {
		return false
	}
	in.examples, in.steps = s.Examples, s.Reader.Steps()
	return true
}

// lookAtPlan refuses plans without a step, and what does not fit into one.
func (in *Inspection) lookAtPlan(ctx context.Context) {
	if in.cfg.Mode != config.Train {
		in.steps = plan.Steps(in.cfg, in.method, in.explored)
	}
	fed := in.explored * in.cfg.Buffer.BatchSize * in.cfg.Algorithm.RepeatTimes / plan.TrainSamples(in.cfg, in.method)
	if in.cfg.Mode.Trains() && (in.steps < 1 || in.explored > 0 && fed < 1) {
		in.add("buffer.train_batch_size", in.noStep())
		return
	}
	if _, err := plan.Rates(in.cfg, in.steps); in.cfg.Mode.Trains() {
		in.add("algorithm.optimizer", err)
	}
	if s := in.cfg.Synchronizer; in.cfg.Mode != config.Train && s.SyncStyle == config.Fixed {
		in.add("algorithm.sample_strategy_args.max_staleness", plan.CheckStaleness(in.cfg, in.method, in.explored))
	}
	if in.cfg.Mode.Trains() && in.cfg.Mode != config.Train {
		_, err := in.data(in.cfg).Expert(ctx, buffer.Position{}, in.steps)
		name := in.method.SampleStrategy.ExpertBuffer
		path := in.cfg.Buffer.TrainerInput.AuxiliaryBuffers[name].Path
		in.add("buffer.trainer_input.auxiliary_buffers."+name, in.absent(path, err))
	}
}

// noStep says why a plan has no step.
func (in *Inspection) noStep() error {
	cfg := in.cfg
	tasks := in.explored * cfg.Buffer.BatchSize
	return fmt.Errorf("is %d, and the %d explore steps give %d experiences (%d tasks, %d of each), which is less "+
		"than one step; lower it, or raise buffer.total_epochs or total_steps",
		cfg.Buffer.TrainBatchSize, in.explored, tasks*cfg.Algorithm.RepeatTimes, tasks, cfg.Algorithm.RepeatTimes)
}

// lookAtNames looks up workflows and rewards where the data cannot be opened.
func (in *Inspection) lookAtNames() {
	if in.model == nil {
		in.model = &base.Model{}
	}
	if !in.cfg.Mode.Explores() {
		return
	}
	look := func(t *config.Taskset, key string) {
		w, err := workflow.New(t.DefaultWorkflowType, in.site.Own.Own)
		_, plays := w.(workflow.Gem)
		judged := workflow.Judged(t.DefaultWorkflowType)
		if err == nil && (plays && in.model.Template == nil || judged && in.judge == nil) {
			return // what it needs is not there
		}
		_, _, err = in.data(in.cfg).Workflow(t, key)
		in.add(key, err)
	}
	if in.cfg.Mode != config.Bench {
		for i, t := range in.cfg.Buffer.ExplorerInput.Training() {
			look(&t, data.TasksetKey(in.cfg, i))
		}
	}
	for i := range in.cfg.Buffer.ExplorerInput.EvalTasksets {
		look(&in.cfg.Buffer.ExplorerInput.EvalTasksets[i], fmt.Sprintf("buffer.explorer_input.eval_tasksets[%d]", i))
	}
}
