package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/taskprep"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// lookAtPipelines makes the operators of both pipelines.
func (in *Inspection) lookAtPipelines(ctx context.Context) {
	b := in.job
	if b.cfg.Mode != config.Train {
		_, err := pipelineOf(b.cfg, b.Plugins)
		in.add("data_processor.experience_pipeline.operators", err)
	}
	in.prepared = true
	p := b.recipe()
	if p == nil {
		return
	}
	const key = "data_processor.task_pipeline"
	if !in.add(key, checkRecipe(p)) {
		return
	}
	for i, o := range p.Operators {
		_, err := taskprep.New(o.Name, o.Args, b.recipeNeeds(p))
		in.add(fmt.Sprintf("%s.operators[%d].name", key, i), atArgs(fmt.Sprintf("%s.operators[%d].args", key, i), err))
	}
	if b.method == nil {
		return
	}
	out, err := b.recipeFolder(p)
	made := ""
	if err == nil {
		made, err = recipeMark(p)
	}
	if err == nil {
		in.prepared, err = recipeDone(out, made)
	}
	if !in.add(key+".output.path", err) {
		in.prepared = false
	}
	for i, path := range p.Inputs {
		rows, err := b.openRows(ctx, path, "", "train")
		if err == nil {
			err = rows.Close()
		}
		in.add(fmt.Sprintf("%s.inputs[%d]", key, i), in.absent(path, err))
	}
}

// lookAtData opens what is trained and evaluated on, and plans how it is read.
func (in *Inspection) lookAtData(ctx context.Context) {
	b := in.job
	plans := b.cfg.Mode != config.Bench && !b.cfg.Mode.Serves()
	switch {
	case !in.prepared && plans: // the tasks are made first
		in.lookAtNames()
		in.lookAtInputs(ctx)
		plans = false
	case b.cfg.Mode == config.Train:
		plans = in.lookAtExamples(ctx) && plans
	case b.cfg.Mode.Explores() && b.cfg.Mode != config.Bench:
		plans = in.lookAtTasks(ctx) && plans
	}
	if b.cfg.Mode.Explores() {
		for i := range b.cfg.Buffer.ExplorerInput.EvalTasksets {
			t := &b.cfg.Buffer.ExplorerInput.EvalTasksets[i]
			key := fmt.Sprintf("buffer.explorer_input.eval_tasksets[%d]", i)
			_, err := b.evalTaskset(ctx, t, key)
			in.add(key, in.absent(t.Path, err))
		}
	}
	if plans {
		in.lookAtPlan(ctx)
	}
}

// lookAtTasks builds the tasksets that are trained on.
func (in *Inspection) lookAtTasks(ctx context.Context) bool {
	b := in.job
	missing := false
	for i, t := range b.cfg.Buffer.ExplorerInput.Training() {
		if t.StorageType == "sql" {
			continue
		}
		rows, err := b.openRows(ctx, t.Path, t.SubsetName, t.Split)
		if err == nil {
			err = rows.Close()
		}
		missing = !in.add(b.tasksetKey(i)+".path", in.absent(t.Path, err)) || missing
	}
	if missing { // the names that it gives can be looked up all the same
		for i, t := range b.cfg.Buffer.ExplorerInput.Training() {
			_, _, err := b.way(&t, b.tasksetKey(i))
			in.add(b.tasksetKey(i), err)
		}
		return false
	}
	var err error
	in.train, in.tasks, in.explored, err = b.trainTasksets(ctx)
	return in.add("buffer.explorer_input.taskset", err) && in.lookAtFirstStep(ctx)
}

// lookAtFirstStep refuses what fails all tasks of the first step before or after their samples, whatever the model
// answers: then the run ends there. Workflows and rewards that a program brings are left alone.
func (in *Inspection) lookAtFirstStep(ctx context.Context) bool {
	b := in.job
	tasks, err := in.train.Tasks.Batch(1, b.cfg.Buffer.BatchSize)
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
	key := in.tasks.sets[tasks[0].Taskset].key
	return in.add(key, fmt.Errorf("each of the %d tasks of the first step fails: %w", len(tasks), first))
}

// try asks a task's prompt and grades an empty answer.
func (in *Inspection) try(ctx context.Context, t workflow.Task) error {
	own := in.job.Plugins
	_, r := in.train.Way(t)
	set := in.tasks.sets[t.Taskset].config
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
	return atArgs(in.tasks.sets[t.Taskset].key+".reward_fn_args", err)
}

// lookAtInputs lets what goes into the task pipeline stand for what will come out of it, so that there is something to
// reckon with. What does not fit is no mistake: the pipeline may mend it.
func (in *Inspection) lookAtInputs(ctx context.Context) {
	b := in.job
	if b.cfg.Mode == config.Train {
		return
	}
	cfg, whole := *b.cfg, b.cfg
	cfg.Buffer.ExplorerInput.Taskset, cfg.Buffer.ExplorerInput.Tasksets = nil, nil
	for i, t := range whole.Buffer.ExplorerInput.Training() {
		cfg.Buffer.ExplorerInput.Tasksets = append(cfg.Buffer.ExplorerInput.Tasksets, b.unprepared(i, t)...)
	}
	b.cfg = &cfg
	train, tasks, steps, err := b.trainTasksets(ctx)
	b.cfg = whole
	if err == nil {
		in.train, in.tasks, in.explored = train, tasks, steps
		in.steps = stepsOf(b.cfg, b.method, steps)
	}
}

// tasksetKey is the place of the i-th taskset that is trained on.
func (b *job) tasksetKey(i int) string {
	if b.cfg.Buffer.ExplorerInput.Taskset == nil {
		return fmt.Sprintf("buffer.explorer_input.tasksets[%d]", i)
	}
	return "buffer.explorer_input.taskset"
}

// lookAtExamples opens the data set that is trained on, if it is one.
func (in *Inspection) lookAtExamples(ctx context.Context) bool {
	b := in.job
	eb := b.cfg.Buffer.TrainerInput.ExperienceBuffer
	const key = "buffer.trainer_input.experience_buffer"
	if b.method.Schema == "experience" {
		if eb == nil || eb.StorageType != "sql" {
			in.add(key+".storage_type", fmt.Errorf("mode train with algorithm %s reads the experiences of an "+
				"explorer in "+
				"another process; set storage_type: sql", b.cfg.Algorithm.Type))
		}
		return false // nobody knows how many will come
	}
	in.steps = stepsOf(b.cfg, b.method, 0)
	s, err := b.buildFileSource(ctx, buffer.Position{}, in.steps)
	if !in.add(key, in.absent(eb.Path, err)) {
		return false
	}
	in.examples, in.steps = s.Examples, s.Reader.Steps()
	return true
}

// lookAtPlan refuses plans without a step, and what does not fit into one.
func (in *Inspection) lookAtPlan(ctx context.Context) {
	b := in.job
	if b.cfg.Mode != config.Train {
		in.steps = stepsOf(b.cfg, b.method, in.explored)
	}
	fed := in.explored * b.cfg.Buffer.BatchSize * b.cfg.Algorithm.RepeatTimes / sampledOf(b.cfg, b.method)
	if b.cfg.Mode.Trains() && (in.steps < 1 || in.explored > 0 && fed < 1) {
		in.add("buffer.train_batch_size", in.noStep())
		return
	}
	if _, err := ratesOf(b.cfg, in.steps); b.cfg.Mode.Trains() {
		in.add("algorithm.optimizer", err)
	}
	if s := b.cfg.Synchronizer; b.cfg.Mode != config.Train && s.SyncStyle == config.Fixed {
		in.add("algorithm.sample_strategy_args.max_staleness", checkStaleness(b.cfg, b.method, in.explored))
	}
	if b.cfg.Mode.Trains() && b.cfg.Mode != config.Train {
		_, err := b.openExpert(ctx, buffer.Position{}, in.steps)
		name := b.method.SampleStrategy.ExpertBuffer
		path := b.cfg.Buffer.TrainerInput.AuxiliaryBuffers[name].Path
		in.add("buffer.trainer_input.auxiliary_buffers."+name, in.absent(path, err))
	}
}

// noStep says why a plan has no step.
func (in *Inspection) noStep() error {
	cfg := in.job.cfg
	tasks := in.explored * cfg.Buffer.BatchSize
	return fmt.Errorf("is %d, and the %d explore steps give %d experiences (%d tasks, %d of each), which is less "+
		"than one "+
		"step; lower it, or raise buffer.total_epochs or total_steps",
		cfg.Buffer.TrainBatchSize, in.explored, tasks*cfg.Algorithm.RepeatTimes, tasks, cfg.Algorithm.RepeatTimes)
}

// lookAtNames looks up workflows and rewards where the data cannot be opened.
func (in *Inspection) lookAtNames() {
	b := in.job
	if b.model == nil {
		b.model = &baseModel{}
	}
	if !b.cfg.Mode.Explores() {
		return
	}
	look := func(t *config.Taskset, key string) {
		w, err := workflow.New(t.DefaultWorkflowType, b.Plugins.workflows())
		_, plays := w.(workflow.Gem)
		judged := workflow.Judged(t.DefaultWorkflowType)
		if err == nil && (plays && b.model.template == nil || judged && b.judge == nil) {
			return // what it needs is not there
		}
		_, _, err = b.way(t, key)
		in.add(key, err)
	}
	if b.cfg.Mode != config.Bench {
		for i, t := range b.cfg.Buffer.ExplorerInput.Training() {
			look(&t, b.tasksetKey(i))
		}
	}
	for i := range b.cfg.Buffer.ExplorerInput.EvalTasksets {
		look(&b.cfg.Buffer.ExplorerInput.EvalTasksets[i], fmt.Sprintf("buffer.explorer_input.eval_tasksets[%d]", i))
	}
}
