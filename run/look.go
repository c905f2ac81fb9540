package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/chat"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hub"
	"github.com/seed-d9ad8ee0/trinity/model"
	"github.com/seed-d9ad8ee0/trinity/recipe"
	"github.com/seed-d9ad8ee0/trinity/reward"
	"github.com/seed-d9ad8ee0/trinity/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/trainer"
	"github.com/seed-d9ad8ee0/trinity/workflow"
)

// absent turns the error of something that a name on the hub stands for into one that is not known yet.
func (in *Inspection) absent(path string, err error) error {
	fetched := in.later || in.job.Hub != nil && hub.IsName(path)
	if _, here := os.Stat(in.job.Find(path)); err == nil || !fetched || here == nil {
		return err
	}
	return &notHere{err}
}

// mode refuses what does not go with the mode.
func (in *Inspection) mode() {
	cfg := in.job.cfg
	eb := cfg.Buffer.TrainerInput.ExperienceBuffer
	const storage = "buffer.trainer_input.experience_buffer.storage_type"
	switch m := cfg.Mode; {
	case m == config.Train || m == config.Bench:
	case cfg.Model.RandomInit:
		in.add("model.random_init", fmt.Errorf("begins without a model to sample from; use it with mode train, and explore with what that run saved"))
	case in.job.aside() && (eb == nil || eb.StorageType == "queue"):
		in.add(storage, fmt.Errorf("mode %s hands its experiences to another process; set storage_type: sql (or file, to keep them as JSON lines)", m))
	case m.Trains() && eb != nil && eb.StorageType == "file":
		in.add(storage, fmt.Errorf("is file, which is not for mode %s; use queue or sql", m))
	}
	if eb != nil {
		_, err := in.job.priority()
		in.add("buffer.trainer_input.experience_buffer.replay_buffer.priority_fn_args", err)
	}
}

// lookAtModel finds the model's folder, and reads tokenizer, template and shape. It reports whether the model is here and right.
func (in *Inspection) lookAtModel(ctx context.Context) bool {
	b := in.job
	if b.cfg.Model.ExternalModel.Enable {
		return in.add("model.external_model.base_url_env", b.reachExternal())
	}
	key := "model.model_path"
	if b.cfg.Model.Tinker.BaseModel != "" {
		key = "model.tinker.base_model"
	}
	err := b.buildModel(ctx)
	if err != nil && b.backend.Kind != config.Local {
		err = &notHere{err} // the server may know its tokenizer
	}
	if !in.add(key, in.absent(b.cfg.Model.BaseModel(), err)) {
		return false
	}
	b.identity.Date = b.began()
	good := in.add(templateKey(b.cfg), b.setTemplate())
	if b.backend.Kind == config.Local {
		good = in.lookAtShape(key) && good
	}
	return good
}

func templateKey(cfg *config.Config) string {
	switch {
	case cfg.Model.ChatTemplatePath != "":
		return "model.chat_template_path"
	case cfg.Given("explorer.rollout_model.chat_template"):
		return "explorer.rollout_model.chat_template"
	}
	return "model.custom_chat_template"
}

// tokenizer is that of the model folder dir, if it has been read; else nil.
func (in *Inspection) tokenizer(dir string) *tokenizer.Tokenizer {
	if in == nil || in.job.model == nil || in.job.model.dir != dir {
		return nil
	}
	return in.job.model.tokenizer
}

// setTemplate makes the chat template.
func (b *job) setTemplate() error {
	conf, err := tokenizer.LoadConfig(b.model.dir)
	if err != nil {
		return err
	}
	text, err := b.templateText(conf)
	if err != nil {
		return err
	}
	b.model.template, err = chat.New(text, conf, b.identity.Date)
	return err
}

// lookAtShape reads what the local engine must know of the model, and of an adapter to begin with.
func (in *Inspection) lookAtShape(key string) bool {
	b := in.job
	conf, err := model.LoadConfig(b.model.dir)
	if !in.add(key, err) {
		return false
	}
	if !b.cfg.Model.RandomInit {
		in.add(key, weightsIn(b.model.dir))
	}
	context := conf.MaxPos
	if context <= 0 {
		context = engine.DefaultContext
	}
	switch n := b.cfg.Model.MaxModelLen; {
	case n == nil || *n <= context:
	case b.cfg.Given("model.max_model_len"):
		in.add("model.max_model_len", fmt.Errorf("is %d, and the context of %s is %d tokens (max_position_embeddings of its config.json); "+
			"lower it, and max_prompt_tokens and max_response_tokens with it", *n, b.cfg.Model.BaseModel(), context))
	default:
		b.noteOnce("max_prompt_tokens and max_response_tokens come to %d tokens, and the context of %s is %d: a longer sequence ends there",
			*n, b.cfg.Model.BaseModel(), context)
	}
	if from := b.cfg.StartAdapter(); from != "" {
		a, err := model.ReadPEFT(b.Find(from))
		if err == nil {
			err = b.checkAdapter(a)
		}
		in.add("model.lora_configs[0].path", err)
	}
	return true
}

// weightsIn looks for the files of a model's weights.
func weightsIn(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("the folder %s has no safetensors file with the model's weights", dir)
	}
	return err
}

func (in *Inspection) lookAtTeacher(ctx context.Context) {
	b := in.job
	if !b.method.Needs().Teacher {
		return
	}
	path, err := teacherPath(b.cfg)
	if err == nil {
		err = in.absent(path, b.buildTeacher(ctx))
	}
	in.add("explorer.auxiliary_models", err)
}

func judgePath(cfg *config.Config) string {
	if len(cfg.Explorer.AuxiliaryModels) == 0 {
		return ""
	}
	return cfg.Explorer.AuxiliaryModels[0].ModelPath
}

// lookAtJudge builds the judge, and refuses answers longer than its model's context.
func (in *Inspection) lookAtJudge(ctx context.Context) bool {
	b := in.job
	if !in.add("explorer.auxiliary_models[0].model_path", in.absent(judgePath(b.cfg), b.buildJudge(ctx))) {
		return false
	}
	if b.judge == nil || b.backend.Kind != config.Local || b.judge.conf.MaxResponseTokens == nil {
		return true
	}
	conf, err := model.LoadConfig(b.judge.model.dir)
	if !in.add("explorer.auxiliary_models[0].model_path", err) {
		return false
	}
	if n := *b.judge.conf.MaxResponseTokens; conf.MaxPos > 0 && n >= conf.MaxPos {
		return in.add("explorer.auxiliary_models[0].max_response_tokens", fmt.Errorf("is %d, and the context of %s is %d tokens; lower it so that there is room for what the judge reads", n, b.judge.model.name, conf.MaxPos))
	}
	return true
}

// lookAtPipelines makes the operators of both pipelines.
func (in *Inspection) lookAtPipelines(ctx context.Context) {
	b := in.job
	if b.cfg.Mode != config.Train {
		_, err := b.operators()
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
		_, err := recipe.New(o.Name, o.Args, b.recipeNeeds(p))
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
			t, key := &b.cfg.Buffer.ExplorerInput.EvalTasksets[i], fmt.Sprintf("buffer.explorer_input.eval_tasksets[%d]", i)
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
	in.train, in.explored, err = b.trainTasksets(ctx)
	return in.add("buffer.explorer_input.taskset", err) && in.lookAtFirstStep(ctx)
}

// lookAtFirstStep refuses what fails all tasks of the first step before or after their samples, whatever the model answers: then the run
// ends there. Workflows and rewards that a program brings are left alone.
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
	return in.add(b.tasks.sets[tasks[0].Taskset].key, fmt.Errorf("each of the %d tasks of the first step fails: %w", len(tasks), first))
}

// try asks a task's prompt and grades an empty answer.
func (in *Inspection) try(ctx context.Context, t workflow.Task) error {
	own := in.job.Plugins
	_, r := in.train.Way(t)
	set := in.job.tasks.sets[t.Taskset].config
	if _, theirs := own.Workflows[set.DefaultWorkflowType]; theirs || len(in.train.Variants) > 0 && len(own.Workflows) > 0 {
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
	return err
}

// lookAtInputs lets what goes into the task pipeline stand for what will come out of it, so that there is something to reckon
// with. What does not fit is no mistake: the pipeline may mend it.
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
	train, steps, err := b.trainTasksets(ctx)
	b.cfg = whole
	if err == nil {
		in.train, in.explored, b.explored = train, steps, steps
		b.steps = b.totalSteps(steps)
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
			in.add(key+".storage_type", fmt.Errorf("mode train with algorithm %s reads the experiences of an explorer in another process; set storage_type: sql", b.cfg.Algorithm.Type))
		}
		return false // nobody knows how many will come
	}
	b.steps = b.totalSteps(0)
	s, err := b.buildFileSource(ctx, trainer.Position{})
	if !in.add(key, in.absent(eb.Path, err)) {
		return false
	}
	in.examples, b.steps = s.examples, s.reader.Steps()
	return true
}

// lookAtPlan refuses plans without a step, and what does not fit into one.
func (in *Inspection) lookAtPlan(ctx context.Context) {
	b := in.job
	if b.cfg.Mode != config.Train {
		b.explored, b.steps = in.explored, b.totalSteps(in.explored)
	}
	fed := in.explored * b.cfg.Buffer.BatchSize * b.cfg.Algorithm.RepeatTimes / b.sampled()
	if b.cfg.Mode.Trains() && (b.steps < 1 || in.explored > 0 && fed < 1) {
		in.add("buffer.train_batch_size", b.noStep())
		return
	}
	if _, err := b.schedule(); b.cfg.Mode.Trains() {
		in.add("algorithm.optimizer", err)
	}
	if s := b.cfg.Synchronizer; b.cfg.Mode != config.Train && s.SyncStyle == config.Fixed {
		b.sync = synchronizer.New(b.syncSchedule(), seconds(s.SyncTimeout))
		in.add("algorithm.sample_strategy_args.max_staleness", b.checkStaleness())
	}
	if b.cfg.Mode.Trains() && b.cfg.Mode != config.Train {
		_, err := b.openExpert(ctx, trainer.Position{})
		name := b.method.SampleStrategy.ExpertBuffer
		in.add("buffer.trainer_input.auxiliary_buffers."+name, in.absent(b.cfg.Buffer.TrainerInput.AuxiliaryBuffers[name].Path, err))
	}
}

// noStep says why a plan has no step.
func (b *job) noStep() error {
	tasks := b.explored * b.cfg.Buffer.BatchSize
	return fmt.Errorf("is %d, and the %d explore steps give %d experiences (%d tasks, %d of each), which is less than one step; lower it, or raise buffer.total_epochs or total_steps",
		b.cfg.Buffer.TrainBatchSize, b.explored, tasks*b.cfg.Algorithm.RepeatTimes, tasks, b.cfg.Algorithm.RepeatTimes)
}
