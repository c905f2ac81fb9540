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
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/prepare"
)

// lookAtIdle notes what is given and read by nobody.
func (in *Inspection) lookAtIdle() {
	for _, a := range sink.Idle(in.Config.Monitor.MonitorType, in.Config.Monitor.MonitorArgs) {
		in.add("monitor.monitor_args", in.Unread("monitor.monitor_args", a.Name, a.Why, a.Near))
	}
	eb := in.Config.Buffer.TrainerInput.ExperienceBuffer
	if eb == nil || in.Method == nil || in.Method.Schema != "experience" {
		return
	}
	for _, key := range []string{"image_key", "video_key"} { // that tell a data set with pictures
		if key := "buffer.trainer_input.experience_buffer.format." + key; in.Config.Given(key) {
			in.NoteUnread(key, "experiences have no columns; the format of the taskset counts")
		}
	}
}

// lookAtPipelines makes the operators of both pipelines.
func (in *Inspection) lookAtPipelines(ctx context.Context) {
	if in.Config.Mode != config.Train {
		_, err := plan.Operators(in.Config, in.Operators)
		in.add("data_processor.experience_pipeline.operators", err)
	}
	in.prepared = true
	p := prepare.Of(in.Job)
	if p.Conf == nil || !in.add(prepare.Key, p.Check()) {
		return
	}
	for i, o := range p.Conf.Operators {
		_, err := taskprep.New(o.Name, o.Args, p.Surroundings())
		key := fmt.Sprintf("%s.operators[%d]", prepare.Key, i)
		in.add(key+".name", job.AtArguments(key+".args", err))
	}
	if in.Method == nil {
		return
	}
	done, err := p.Done()
	in.prepared = in.add(prepare.Key+".output.path", err) && done
	for i, path := range p.Conf.Inputs {
		rows, err := in.Rows(ctx, path, "", "train")
		if err == nil {
			err = rows.Close()
		}
		in.add(fmt.Sprintf("%s.inputs[%d]", prepare.Key, i), in.absent(path, err))
	}
}

// lookAtData opens what is trained and evaluated on, and plans how it is read.
func (in *Inspection) lookAtData(ctx context.Context) {
	plans := in.Config.Mode != config.Bench && !in.Config.Mode.Serves()
	switch {
	case !in.prepared && plans: // the tasks are made first
		in.lookAtNames()
		in.lookAtInputs(ctx)
		plans = false
	case in.Config.Mode == config.Train:
		plans = in.lookAtExamples(ctx) && plans
	case in.Config.Mode.Explores() && in.Config.Mode != config.Bench:
		plans = in.lookAtTasks(ctx) && plans
	}
	if in.Config.Mode.Explores() {
		for i := range in.Config.Buffer.ExplorerInput.EvalTasksets {
			t := &in.Config.Buffer.ExplorerInput.EvalTasksets[i]
			key := fmt.Sprintf("buffer.explorer_input.eval_tasksets[%d]", i)
			_, err := data.EvalTaskset(ctx, in.Job, t, key)
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
	for i, t := range in.Config.Buffer.ExplorerInput.Training() {
		if _, outside := in.TasksAt(t.Path); t.StorageType != "file" || outside != nil {
			continue
		}
		rows, err := in.Rows(ctx, t.Path, t.SubsetName, t.Split)
		if err == nil {
			err = rows.Close()
		}
		missing = !in.add(data.TasksetKey(in.Config, i)+".path", in.absent(t.Path, err)) || missing
	}
	if missing { // the names that it gives can be looked up all the same
		for i, t := range in.Config.Buffer.ExplorerInput.Training() {
			_, _, err := data.Workflow(in.Job, &t, data.TasksetKey(in.Config, i))
			in.add(data.TasksetKey(in.Config, i), err)
		}
		return false
	}
	var err error
	in.train, in.tasks, in.explored, err = data.TrainTasksets(ctx, in.Job)
	return in.add("buffer.explorer_input.taskset", err) && in.lookAtFirstStep(ctx)
}

// lookAtFirstStep refuses what fails all tasks of the first step before or after their samples, whatever the model
// answers: then the run ends there. Workflows and rewards that a program brings are left alone.
func (in *Inspection) lookAtFirstStep(ctx context.Context) bool {
	tasks, err := in.train.Tasks.Batch(1, in.Config.Buffer.BatchSize)
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
	_, r := in.train.Way(t)
	set, key := in.tasks.Set(t.Taskset)
	_, theirs := in.Own.Workflows[set.DefaultWorkflowType]
	if theirs || len(in.train.Variants) > 0 && len(in.Own.Workflows) > 0 {
		return nil
	}
	t.Batch, t.ID = "inspection", "0"
	if _, err := in.prompt(ctx, t); err != nil {
		return err
	}
	if _, theirs := in.Own.Rewards[r.RewardName]; theirs || r.Reward == nil {
		return nil
	}
	_, err := r.Reward(reward.Sample{Prompt: t.Prompt, Truth: t.Truth, ResponseTokens: []int32{0}, Args: r.RewardArgs})
	if err != nil {
		err = fmt.Errorf("reward %s: %w", r.RewardName, err)
	}
	return job.AtArguments(key+".reward_fn_args", err)
}

// lookAtInputs estimates with the inputs of the task pipeline in place of its output. Rows that do not fit are no
// mistake: the pipeline may change them.
func (in *Inspection) lookAtInputs(ctx context.Context) {
	if in.Config.Mode == config.Train {
		return
	}
	cfg := *in.Config
	cfg.Buffer.ExplorerInput.Taskset, cfg.Buffer.ExplorerInput.Tasksets = nil, nil
	for i, t := range in.Config.Buffer.ExplorerInput.Training() {
		cfg.Buffer.ExplorerInput.Tasksets = append(cfg.Buffer.ExplorerInput.Tasksets, prepare.Before(in.Job, i, t)...)
	}
	train, tasks, steps, err := data.TrainTasksets(ctx, in.With(&cfg))
	if err == nil {
		in.train, in.tasks, in.explored = train, tasks, steps
		in.steps = plan.Steps(in.Config, in.Method, steps)
	}
}

// lookAtExamples opens the data set that is trained on, if it is one.
func (in *Inspection) lookAtExamples(ctx context.Context) bool {
	eb := in.Config.Buffer.TrainerInput.ExperienceBuffer
	const key = "buffer.trainer_input.experience_buffer"
	if in.Method.Schema == "experience" {
		if eb == nil || eb.StorageType != "sql" {
			in.add(key+".storage_type", fmt.Errorf("mode train with algorithm %s reads the experiences of an "+
				"explorer in another process; set storage_type: sql", in.Config.Algorithm.Type))
		}
		return false // their number is not known in advance
	}
	s, err := data.Train(ctx, in.Job, buffer.Position{})
	if !in.add(key, in.absent(eb.Path, err)) {
		return false
	}
	in.examples, in.steps = s.Examples, s.Reader.Steps()
	return true
}

// lookAtPlan refuses plans without a step, and what does not fit into one.
func (in *Inspection) lookAtPlan(ctx context.Context) {
	if in.Config.Mode != config.Train {
		in.steps = plan.Steps(in.Config, in.Method, in.explored)
	}
	fed := in.explored * plan.ExploreSamples(in.Config) / plan.TrainSamples(in.Config, in.Method)
	if in.Config.Mode.Trains() && (in.steps < 1 || in.explored > 0 && fed < 1) {
		in.add("buffer.train_batch_size", in.noStep())
		return
	}
	if _, err := plan.Rates(in.Config, in.steps); in.Config.Mode.Trains() {
		in.add("algorithm.optimizer", err)
	}
	if in.Config.Mode != config.Train {
		if note := plan.Stale(in.Config, in.Method, in.explored); note != "" {
			in.Notes.Add(note)
		}
		in.add("algorithm.sample_strategy_args.max_staleness", plan.CheckStaleness(in.Config, in.Method, in.explored))
	}
	if in.Config.Mode.Trains() && in.Config.Mode != config.Train {
		_, err := data.Expert(ctx, in.Job, buffer.Position{}, in.steps)
		name := in.Method.SampleStrategy.ExpertBuffer
		path := in.Config.Buffer.TrainerInput.AuxiliaryBuffers[name].Path
		in.add("buffer.trainer_input.auxiliary_buffers."+name, in.absent(path, err))
	}
}

// noStep says why a plan has no step.
func (in *Inspection) noStep() error {
	cfg := in.Config
	tasks := in.explored * cfg.Buffer.BatchSize
	return fmt.Errorf("is %d, and the %d explore steps give %d experiences (%d tasks, %d of each), which is less "+
		"than one step; lower it, or raise buffer.total_epochs or total_steps",
		cfg.Buffer.TrainBatchSize, in.explored, tasks*cfg.Algorithm.RepeatTimes, tasks, cfg.Algorithm.RepeatTimes)
}

// lookAtNames looks up workflows and rewards where the data cannot be opened.
func (in *Inspection) lookAtNames() {
	if in.Model == nil {
		in.Model = &job.Model{}
	}
	if !in.Config.Mode.Explores() {
		return
	}
	look := func(t *config.Taskset, key string) {
		w, err := workflow.New(t.DefaultWorkflowType, in.Own)
		_, plays := w.(workflow.Gem)
		judged := workflow.Judged(t.DefaultWorkflowType)
		if err == nil && (plays && in.Model.Template == nil || judged && in.Judge == nil) {
			return // what it needs is not there
		}
		_, _, err = data.Workflow(in.Job, t, key)
		in.add(key, err)
	}
	if in.Config.Mode != config.Bench {
		for i, t := range in.Config.Buffer.ExplorerInput.Training() {
			look(&t, data.TasksetKey(in.Config, i))
		}
	}
	for i := range in.Config.Buffer.ExplorerInput.EvalTasksets {
		look(&in.Config.Buffer.ExplorerInput.EvalTasksets[i], fmt.Sprintf("buffer.explorer_input.eval_tasksets[%d]", i))
	}
}
