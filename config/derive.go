package config

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

func (c *Config) deriveTop() {
	if abs, err := filepath.Abs(c.CheckpointRoot); err == nil && abs != c.CheckpointRoot {
		c.CheckpointRoot = abs
		c.derive("checkpoint_root_dir", "made absolute")
	}
	if c.Mode == Colocate {
		c.Mode = Both
		c.derive("mode", "colocate is both where there is no GPU to share")
	}
	if c.Explorer.RunnerNum != nil {
		c.note("explorer.runner_num is deprecated and not used; runners = rollout_model.engine_num × runner_per_model")
	}
}

// StartFresh gives the run a job directory of its own by adding the time to its name. Package run calls it when
// continue_from_checkpoint is false and [Config.JobDir] is not empty; what was derived from the name follows.
func (c *Config) StartFresh(now time.Time) {
	old := c.Name
	c.Name += now.Format("_20060102150405")
	c.derive("name", "continue_from_checkpoint is false and "+old+" exists")
	c.Derive()
}

// deriveAlgorithm fills the functions from the algorithm's row; their arguments stay as given, because a function
// knows its own defaults and merges what is given over them.
func (c *Config) deriveAlgorithm() {
	a := &c.Algorithm
	row, ok := c.recipe()
	if !ok {
		return
	}
	from := "algorithm_type " + a.Type
	fillInt(c, &a.RepeatTimes, "algorithm.repeat_times", row.RepeatTimes, from)
	fillText(c, &a.SampleStrategy, "algorithm.sample_strategy", row.SampleStrategy, from)
	if a.AdvantageFn == "" && a.AdvantageFnArgs == nil && row.AdvantageArgs != nil {
		a.AdvantageFnArgs = row.AdvantageArgs
		c.derive("algorithm.advantage_fn_args", from)
	}
	fillText(c, &a.AdvantageFn, "algorithm.advantage_fn", row.Advantage, from)
	fillText(c, &a.KLPenaltyFn, "algorithm.kl_penalty_fn", "none", "fallback")
	fillText(c, &a.PolicyLossFn, "algorithm.policy_loss_fn", row.PolicyLoss, from)
	fillText(c, &a.KLLossFn, "algorithm.kl_loss_fn", row.KLLoss, from)
	fillText(c, &a.EntropyLossFn, "algorithm.entropy_loss_fn", row.EntropyLoss, from)
	c.deriveAggregation(row)
	c.deriveOptimizer()
	if a.Type == "dpo" {
		c.deriveDPO()
	}
}

// deriveAggregation settles loss_agg_mode: given, or given to the policy loss, or the algorithm's, or token-mean.
func (c *Config) deriveAggregation(row recipe.Recipe) {
	a := &c.Algorithm
	if mode, ok := a.PolicyLossFnArgs["loss_agg_mode"].(string); ok {
		fillText(c, &a.LossAggMode, "algorithm.loss_agg_mode", mode, "policy_loss_fn_args")
		return
	}
	if row.Aggregation != "" {
		fillText(c, &a.LossAggMode, "algorithm.loss_agg_mode", row.Aggregation, "algorithm_type "+a.Type)
		return
	}
	fillText(c, &a.LossAggMode, "algorithm.loss_agg_mode", "token-mean", "fallback")
}

func (c *Config) deriveOptimizer() {
	o := &c.Algorithm.Optimizer
	if o.WarmupStyle == "" {
		return
	}
	if !c.given("algorithm.optimizer.lr_scheduler_type") {
		o.LRSchedulerType = o.WarmupStyle
		c.derive("algorithm.optimizer.lr_scheduler_type", "warmup_style")
	}
	c.note("algorithm.optimizer.warmup_style is the old name of lr_scheduler_type; rename it")
}

// deriveDPO makes an experience a pair, and gives the loss the reference it is made of.
func (c *Config) deriveDPO() {
	a := &c.Algorithm
	if a.RepeatTimes != 2 {
		a.RepeatTimes = 2
		c.derive("algorithm.repeat_times", "dpo trains on pairs")
	}
	if a.KLLossFn == "none" {
		a.KLLossFn = "k2"
		c.derive("algorithm.kl_loss_fn", "dpo needs a reference")
		c.note("algorithm.kl_loss_fn none was replaced by k2: dpo needs a reference")
	}
}

// fromDataset reports whether the algorithm trains on a dataset instead of rollouts.
func (a *Algorithm) fromDataset() bool { return a.Type == "sft" || a.Type == "dpo" || a.Type == "cpt" }

func (c *Config) deriveSynchronizer() {
	s := &c.Synchronizer
	if s.SyncMethod == NCCL {
		s.SyncMethod = Checkpoint
		if c.given("synchronizer.sync_method") {
			c.note("synchronizer.sync_method nccl needs GPUs; checkpoint is used")
		}
		c.derive("synchronizer.sync_method", "nccl needs GPUs")
	}
	if c.Algorithm.fromDataset() {
		c.deriveDatasetSync()
		return
	}
	if s.SyncStyle.windowed() {
		c.noteWindow()
		return
	}
	c.noteIntervals()
	every, _ := s.intervals()
	if e := &c.Explorer; every > 0 && e.EvalInterval > 0 && c.Mode != Bench && e.EvalInterval%every != 0 {
		rounded := max(e.EvalInterval-e.EvalInterval%every, every)
		if c.given("explorer.eval_interval") {
			c.note("explorer.eval_interval %d became %d, a multiple of synchronizer.sync_interval %d", e.EvalInterval,
				rounded, every)
		}
		e.EvalInterval = rounded
		c.derive("explorer.eval_interval", "a multiple of sync_interval")
	}
}

// noteWindow says which keys do not count where explore steps overlap.
func (c *Config) noteWindow() {
	for _, key := range []string{"sync_offset", "explorer_sync_interval"} {
		if c.given("synchronizer." + key) {
			c.note("synchronizer.%s is ignored: in sync_style %s explorer.max_inflight_batches says how far the "+
				"explorer is ahead", key, c.Synchronizer.SyncStyle)
		}
	}
}

// noteIntervals says what becomes of intervals of the two loops that do not fit.
func (c *Config) noteIntervals() {
	s := &c.Synchronizer
	explorer, trainer := s.intervals()
	if explorer > 0 && trainer > 0 && explorer%trainer != 0 {
		c.note("synchronizer: the explorer asks for weights every %d steps and the trainer publishes every %d: where "+
			"there is nothing new the explorer continues with the version it has", explorer, trainer)
	}
	if c.given("explorer.max_inflight_batches") && c.Explorer.MaxInflightBatches > 1 {
		c.note("explorer.max_inflight_batches is ignored: sync_style %s explores one step at a time", s.SyncStyle)
	}
}

// deriveDatasetSync publishes weights when they are saved. With save_interval 0, which saves only at the end, the
// interval stays as it is (upstream makes it 0 and then refuses it).
func (c *Config) deriveDatasetSync() {
	s := &c.Synchronizer
	if s.SyncMethod != Checkpoint {
		c.note("synchronizer.sync_method %s was replaced by checkpoint: %s has no explorer", s.SyncMethod,
			c.Algorithm.Type)
		s.SyncMethod = Checkpoint
		c.derive("synchronizer.sync_method", c.Algorithm.Type)
	}
	if c.Trainer.SaveInterval > 0 && s.SyncInterval != c.Trainer.SaveInterval {
		s.SyncInterval = c.Trainer.SaveInterval
		c.derive("synchronizer.sync_interval", "trainer.save_interval")
	}
}

func (c *Config) deriveExplorer() {
	e := &c.Explorer
	c.fillInference(&e.RolloutModel, "explorer.rollout_model")
	fillText(c, &e.RolloutModel.ModelPath, "explorer.rollout_model.model_path", c.Model.ModelPath, "model.model_path")
	for i := range e.AuxiliaryModels {
		c.fillInference(&e.AuxiliaryModels[i], document.Index("explorer.auxiliary_models", i))
	}
	if (c.Mode.Serves() || c.OffersRollouts()) && !c.given("explorer.listen_address") {
		e.ListenAddress = "127.0.0.1"
		c.derive("explorer.listen_address", "only this machine, unless it is given")
	}
	if c.Mode.Serves() && !e.RolloutModel.EnableOpenAIAPI {
		e.RolloutModel.EnableOpenAIAPI = true
		c.derive("explorer.rollout_model.enable_openai_api", "mode "+string(c.Mode))
	}
	if e.ConcurrentMode == "sequential" || e.RolloutModel.EngineNum < 1 || c.Buffer.BatchSize < 1 || c.Mode == Bench {
		return // mode bench has no batches
	}
	most := (c.Buffer.BatchSize + e.RolloutModel.EngineNum - 1) / e.RolloutModel.EngineNum
	if slices.Contains(concurrentModes(), e.ConcurrentMode) && e.RunnerPerModel > most {
		c.note("explorer.runner_per_model %d became %d: a batch has no more tasks per engine", e.RunnerPerModel, most)
		e.RunnerPerModel = most
		c.derive("explorer.runner_per_model", "tasks per engine")
	}
}

func concurrentModes() []string { return []string{"sequential", "asynchronous", "multi-threading"} }

// fillInference fills what an inference model leaves open from section model.
func (c *Config) fillInference(m *InferenceModel, key string) {
	from := func(name string) (string, string) { return document.Join(key, name), "model." + name }
	set := func(p **int, v *int, name string) {
		if k, why := from(name); v != nil {
			fill(c, p, k, *v, why)
		}
	}
	setFloat := func(p **float64, v float64, name string) { k, why := from(name); fill(c, p, k, v, why) }
	setFloat(&m.Temperature, c.Model.Temperature, "temperature")
	setFloat(&m.TopP, c.Model.TopP, "top_p")
	setFloat(&m.RepetitionPenalty, c.Model.RepetitionPenalty, "repetition_penalty")
	set(&m.TopK, &c.Model.TopK, "top_k")
	set(&m.Logprobs, &c.Model.Logprobs, "logprobs")
	set(&m.MaxModelLen, c.Model.MaxModelLen, "max_model_len")
	set(&m.MaxPromptTokens, c.Model.MaxPromptTokens, "max_prompt_tokens")
	set(&m.MaxResponseTokens, c.Model.MaxResponseTokens, "max_response_tokens")
	set(&m.MinResponseTokens, &c.Model.MinResponseTokens, "min_response_tokens")
	k, why := from("enable_prompt_truncation")
	fill(c, &m.EnablePromptTruncation, k, c.Model.EnablePromptTruncation, why)
	if k, why := from("enable_thinking"); c.Model.EnableThinking != nil {
		fill(c, &m.EnableThinking, k, *c.Model.EnableThinking, why)
	}
	fillText(c, &m.ChatTemplate, document.Join(key, "chat_template"), c.Model.CustomChatTemplate,
		"model.custom_chat_template")
}
