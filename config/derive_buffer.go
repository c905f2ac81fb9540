package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// Training returns the tasksets to train on, whether given as taskset or as tasksets.
func (in *ExplorerInput) Training() []Taskset {
	if in.Taskset != nil {
		return []Taskset{*in.Taskset}
	}
	return in.Tasksets
}

// deriveTasksets names the tasksets and fills what they leave open.
func (c *Config) deriveTasksets() {
	b := &c.Buffer
	if c.Mode != Train {
		fillInt(c, &b.TrainBatchSize, "buffer.train_batch_size", b.BatchSize*c.Algorithm.RepeatTimes,
			"batch_size × repeat_times")
	}
	in := &b.ExplorerInput
	const section = "buffer.explorer_input"
	if in.Taskset != nil {
		c.deriveTaskset(in.Taskset, section+".taskset", "taskset_0")
	}
	for i := range in.Tasksets {
		c.deriveTaskset(&in.Tasksets[i], document.Index(section+".tasksets", i), "taskset_"+strconv.Itoa(i))
	}
	for i := range in.EvalTasksets {
		t, key := &in.EvalTasksets[i], document.Index(section+".eval_tasksets", i)
		workflow, from := in.DefaultEvalWorkflowType, "default_eval_workflow_type"
		if workflow == "" {
			workflow, from = in.DefaultWorkflowType, "default_workflow_type"
		}
		c.fillTaskset(t, key, "eval_taskset_"+strconv.Itoa(i), workflow, document.Join(section, from))
	}
	c.deriveTable()
}

// deriveTable: the tasks of a table that is read in order come once, as upstream has it; a selector reads them by
// epochs.
func (c *Config) deriveTable() {
	b, list := &c.Buffer, c.Buffer.ExplorerInput.Training()
	if len(list) != 1 || list[0].StorageType != "sql" || list[0].DataSelector.SelectorType != "sequential" ||
		b.TotalEpochs == 1 {
		return
	}
	if c.given("buffer.total_epochs") {
		c.note("buffer.total_epochs is not used: the rows of a table are read once; give " +
			"data_selector.selector_type: shuffle to read them again")
	}
	b.TotalEpochs = 1
	c.derive("buffer.total_epochs", "a table is read once")
}

// deriveTaskset is for a taskset to train on: its tasks are repeated as the algorithm says.
func (c *Config) deriveTaskset(t *Taskset, key, name string) {
	if t.RepeatTimes != c.Algorithm.RepeatTimes {
		if c.given(document.Join(key, "repeat_times")) {
			c.note("%s.repeat_times is not used: algorithm.repeat_times counts", key)
		}
		t.RepeatTimes = c.Algorithm.RepeatTimes
		c.derive(document.Join(key, "repeat_times"), "algorithm.repeat_times")
	}
	c.fillTaskset(t, key, name, c.Buffer.ExplorerInput.DefaultWorkflowType,
		"buffer.explorer_input.default_workflow_type")
}

// fillTaskset fills what a taskset leaves open; from is the key that its workflow comes from.
func (c *Config) fillTaskset(t *Taskset, key, name, workflow, from string) {
	in := &c.Buffer.ExplorerInput
	fillText(c, &t.Name, document.Join(key, "name"), name, "its place in the list")
	fillText(c, &t.DefaultWorkflowType, document.Join(key, "default_workflow_type"), workflow, from)
	fillText(c, &t.DefaultRewardFnType, document.Join(key, "default_reward_fn_type"), in.DefaultRewardFnType,
		"buffer.explorer_input.default_reward_fn_type")
	c.fillRollout(&t.RolloutArgs, document.Join(key, "rollout_args"))
	c.fillFormat(&t.Format, document.Join(key, "format"))
	if t.TaskSelector != nil && t.DataSelector == nil {
		t.DataSelector = t.TaskSelector
		c.derive(document.Join(key, "data_selector"), "task_selector")
		c.note("%s.task_selector is the old name of data_selector; rename it", key)
	}
	if t.DataSelector == nil {
		t.DataSelector = newSelector()
	}
}

func newSelector() *DataSelector {
	s := new(DataSelector)
	setDefaults(s)
	return s
}

// fillRollout fills sampling parameters from section model, top_k among them.
func (c *Config) fillRollout(r *RolloutArgs, key string) {
	m := &c.Model
	fill(c, &r.Temperature, document.Join(key, "temperature"), m.Temperature, "model.temperature")
	fill(c, &r.TopP, document.Join(key, "top_p"), m.TopP, "model.top_p")
	fill(c, &r.TopK, document.Join(key, "top_k"), m.TopK, "model.top_k")
	fill(c, &r.Logprobs, document.Join(key, "logprobs"), m.Logprobs, "model.logprobs")
	if m.MaxResponseTokens != nil {
		fill(c, &r.MaxTokens, document.Join(key, "max_tokens"), *m.MaxResponseTokens, "model.max_response_tokens")
	}
}

func (c *Config) fillFormat(f *Format, key string) {
	fillText(c, &f.ChatTemplate, document.Join(key, "chat_template"), c.Model.CustomChatTemplate,
		"model.custom_chat_template")
	if v := c.Model.EnableThinking; v != nil {
		fill(c, &f.EnableThinking, document.Join(key, "enable_thinking"), *v, "model.enable_thinking")
	}
}

const experienceBuffer = "buffer.trainer_input.experience_buffer"

// deriveExperienceBuffers settles the buffer between the loops and those beside it.
func (c *Config) deriveExperienceBuffers() {
	if c.Mode == Bench {
		return
	}
	in := &c.Buffer.TrainerInput
	if in.ExperienceBuffer == nil {
		in.ExperienceBuffer = new(ExperienceBuffer)
		setDefaults(in.ExperienceBuffer)
		c.derive(experienceBuffer, "a queue when none is given")
	}
	b := in.ExperienceBuffer
	fillText(c, &b.Name, experienceBuffer+".name", "experience_buffer", "fallback")
	c.deriveStorage(b)
	c.fillBuffer(b, experienceBuffer)
	for _, name := range slices.Sorted(maps.Keys(in.AuxiliaryBuffers)) {
		key := document.Join("buffer.trainer_input.auxiliary_buffers", name)
		aux := in.AuxiliaryBuffers[name]
		fillText(c, &aux.Name, document.Join(key, "name"), name, "its key")
		c.fillBuffer(&aux, key)
		in.AuxiliaryBuffers[name] = aux
	}
}

// deriveStorage chooses the kind and the place of the buffer between the loops. With both loops in one process a
// file would be read while it is written: it becomes a queue that keeps a copy there. What is not a place for a copy is
// not used.
func (c *Config) deriveStorage(b *ExperienceBuffer) {
	if b.StorageType == "file" && (c.Mode == Both || c.Mode == ServeTrain) {
		c.note("%s.storage_type file was replaced by queue: mode is both", experienceBuffer)
		b.StorageType = "queue"
		c.derive(experienceBuffer+".storage_type", "mode both")
	}
	if c.Algorithm.fromDataset() {
		if c.Mode == Train && b.Path != "" && b.StorageType == "queue" && !c.given(experienceBuffer+".storage_type") {
			b.StorageType = "file"
			c.derive(experienceBuffer+".storage_type", "a dataset is read from a file")
		}
		return
	}
	if b.StorageType == "queue" && (c.Mode == Explore || c.Mode == Train || c.Mode == Serve) {
		if c.given(experienceBuffer + ".storage_type") {
			c.note("%s.storage_type queue was replaced by sql: mode %s shares it with another process",
				experienceBuffer, c.Mode)
		}
		b.StorageType = "sql"
		c.derive(experienceBuffer+".storage_type", "mode "+string(c.Mode))
		if !strings.Contains(b.Path, "://") {
			b.Path = ""
			c.derive(experienceBuffer+".path", "mode "+string(c.Mode))
		}
	}
	if b.StorageType == "queue" && b.ReplayBuffer.Enable {
		b.StorageType = "sql" // whose order survives a kill
		c.derive(experienceBuffer+".storage_type", "replay_buffer.enable")
		if !strings.Contains(b.Path, "://") {
			b.Path = ""
			c.derive(experienceBuffer+".path", "replay_buffer.enable")
		}
	}
	if ext := filepath.Ext(b.Path); b.StorageType == "queue" && c.given(experienceBuffer+".path") &&
		!strings.Contains(b.Path, "://") && ext != ".jsonl" && ext != ".json" && b.Path != "" {
		c.note("%s.path %s is not used: a queue keeps its copy in a .jsonl file or a database", experienceBuffer,
			b.Path)
		b.Path = ""
		c.derive(experienceBuffer+".path", "no place for a copy")
	}
	path := filepath.Join(c.bufferDir(), b.Name+".jsonl")
	if b.StorageType == "sql" {
		path = "sqlite:///" + filepath.Join(c.bufferDir(), b.Name+".db")
	}
	fillText(c, &b.Path, experienceBuffer+".path", path, "the job directory")
}

func (c *Config) bufferDir() string { return filepath.Join(c.JobDir(), "buffer") }

// fillBuffer fills what any experience buffer leaves open.
func (c *Config) fillBuffer(b *ExperienceBuffer, key string) {
	fillText(c, &b.SchemaType, document.Join(key, "schema_type"), recipe.All()[c.Algorithm.Type].Schema,
		"algorithm_type "+c.Algorithm.Type)
	if c.Mode == Train {
		if !c.given(document.Join(key, "total_epochs")) {
			b.TotalEpochs = c.Buffer.TotalEpochs
			c.derive(document.Join(key, "total_epochs"), "buffer.total_epochs")
		}
	}
	c.fillFormat(&b.Format, document.Join(key, "format"))
	if b.DataSelector == nil {
		b.DataSelector = newSelector()
	}
}

// derivePipeline says where the raw experiences are kept.
func (c *Config) derivePipeline() {
	p := &c.DataProcessor.ExperiencePipeline
	if c.Mode == Train || c.Mode == Bench || !p.SaveInput {
		return
	}
	path := filepath.Join(c.bufferDir(), "explorer_output.jsonl")
	fillText(c, &p.InputSavePath, "data_processor.experience_pipeline.input_save_path", path, "the job directory")
}

// OffersRollouts reports whether a taskset leaves its rollouts to programs (rollout_workflow).
func (c *Config) OffersRollouts() bool { return c.explores("rollout_workflow") }

// StartsPrograms reports whether a taskset's rollouts are carried out by programs that the run starts.
func (c *Config) StartsPrograms() bool { return c.explores("agent_workflow", "verifiers_workflow") }

// explores reports whether a taskset has one of the workflows.
func (c *Config) explores(names ...string) bool {
	in := &c.Buffer.ExplorerInput
	return c.Mode.Explores() && (slices.Contains(names, in.DefaultWorkflowType) || slices.ContainsFunc(
		slices.Concat(in.Training(), in.EvalTasksets),
		func(t Taskset) bool { return slices.Contains(names, t.DefaultWorkflowType) }))
}
