package config

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// checker collects problems with the places of their values.
type checker struct {
	c     *Config
	found document.Problems
}

// check returns everything wrong with a derived configuration.
func (c *Config) check() document.Problems {
	if c.staged() {
		return c.checkStages()
	}
	k := checker{c: c}
	k.top()
	k.algorithm()
	k.optimizer()
	k.model()
	k.lengths()
	k.adapter()
	k.synchronizer()
	k.explorer()
	k.inference()
	k.buffer()
	k.tasksets()
	k.experienceBuffers()
	k.trainer()
	k.verl()
	k.refused()
	k.monitor()
	k.fleet()
	k.stages()
	return k.found
}

// bad adds a problem at the place of key or, when nobody gave it, of the key that its value was derived from, or of the
// nearest section around it.
func (k *checker) bad(key, format string, args ...any) {
	k.found.Add(k.place(key), key, format, args...)
}

func (k *checker) place(key string) document.Position {
	origins := k.c.trace.origins
	if at := origins[key].at; at.Src != nil {
		return at
	}
	if from := origins[origins[key].Name].at; origins[key].Kind == FromDerivation && from.Src != nil {
		return from
	}
	for section := key; ; {
		i := strings.LastIndexAny(section, ".[")
		if i < 0 {
			return document.Position{Src: origins[""].at.Src}
		}
		section = section[:i]
		if at, ok := k.c.tree.KeyPosition(section); ok { // the section's name tells more than the first key in it
			return at
		}
		if at := origins[section].at; at.Src != nil {
			return at
		}
	}
}

// atLeast wants a number of at least low.
func atLeast[T cmp.Ordered](k *checker, key string, v, low T) {
	if !(v >= low) {
		k.bad(key, "is %v; it must be at least %v", v, low)
	}
}

// positive wants a number above 0.
func (k *checker) positive(key string, v float64) {
	if !(v > 0) || math.IsInf(v, 0) {
		k.bad(key, "is %v; it must be above 0", v)
	}
}

// between wants a number from low to high, both included.
func (k *checker) between(key string, v, low, high float64) {
	if !(v >= low && v <= high) {
		k.bad(key, "is %v; it must be from %v to %v", v, low, high)
	}
}

// oneOf wants one of the words.
func (k *checker) oneOf(key, word string, words []string) {
	if slices.Contains(words, word) {
		return
	}
	if why := k.c.own.Refused[word]; why != "" {
		k.bad(key, "is %s, and %s", document.Quote(word), why)
		return
	}
	if near := didYouMean(word, words); near != "" {
		k.bad(key, "is %s%s", document.Quote(word), near)
		return
	}
	k.bad(key, "is %s; choose %s", document.Quote(word), orList(words))
}

func (k *checker) top() {
	c := k.c
	modes, _ := c.Mode.choices()
	k.oneOf("mode", string(c.Mode), modes)
	if c.Project == "" {
		k.bad("project", "is empty; name one, it is a level of the job directory")
	}
	if c.Name == "" {
		k.bad("name", "is empty; name the run, it is the last level of the job directory")
	}
	for _, part := range []struct{ key, value string }{{"project", c.Project}, {"group", c.Group}, {"name", c.Name}} {
		if part.value != "" && !filepath.IsLocal(part.value) {
			k.bad(part.key, "is %s, which leads out of the checkpoint directory; use a plain name",
				document.Quote(part.value))
		}
	}
}

func (k *checker) algorithm() {
	a := &k.c.Algorithm
	table := recipe.All()
	if _, ok := table[a.Type]; !ok {
		k.oneOf("algorithm.algorithm_type", a.Type, sortedKeys(table))
		return
	}
	atLeast(k, "algorithm.repeat_times", a.RepeatTimes, 1)
	for _, choice := range []struct{ key, name string }{
		{"sample_strategy", a.SampleStrategy},
		{"advantage_fn", a.AdvantageFn},
		{"kl_penalty_fn", a.KLPenaltyFn},
		{"policy_loss_fn", a.PolicyLossFn},
		{"kl_loss_fn", a.KLLossFn},
		{"entropy_loss_fn", a.EntropyLossFn},
		{"loss_agg_mode", a.LossAggMode},
	} {
		if known := k.c.own.Functions[choice.key]; choice.name != "" && len(known) > 0 {
			k.oneOf("algorithm."+choice.key, choice.name, known)
		}
	}
	if a.fromDataset() {
		k.fromDataset()
	}
}

// fromDataset checks what sft, dpo and cpt need.
func (k *checker) fromDataset() {
	c := k.c
	if c.Mode != Train {
		k.bad("mode", "is %s, but %s trains on a dataset; write mode: train", c.Mode, c.Algorithm.Type)
		return
	}
	if b := c.Buffer.TrainerInput.ExperienceBuffer; b == nil || b.Path == "" {
		k.bad(experienceBuffer+".path", "is missing; %s trains on a dataset: name its file, folder or hub name here",
			c.Algorithm.Type)
	}
}

func (k *checker) optimizer() {
	o := &k.c.Algorithm.Optimizer
	const section = "algorithm.optimizer."
	if !(o.LR >= 0) {
		k.bad(section+"lr", "is %v; it must be 0 or more", o.LR)
	}
	k.between(section+"lr_warmup_steps_ratio", o.LRWarmupStepsRatio, 0, 1)
	k.between(section+"min_lr_ratio", o.MinLRRatio, 0, 1)
	k.oneOf(section+"lr_scheduler_type", o.LRSchedulerType, []string{"constant", "cosine"})
	k.oneOf(section+"optimizer_type", o.OptimizerType, []string{"adam", "adamw"})
	atLeast(k, section+"weight_decay", o.WeightDecay, 0)
	if len(o.Betas) != 2 {
		k.bad(section+"betas", "has %d numbers; it must have two, such as [0.9, 0.999]", len(o.Betas))
		return
	}
	for i, beta := range o.Betas {
		if !(beta >= 0 && beta < 1) {
			k.bad(document.Index(section+"betas", i), "is %v; it must be at least 0 and below 1", beta)
		}
	}
}

func (k *checker) synchronizer() {
	s := &k.c.Synchronizer
	methods, _ := s.SyncMethod.choices()
	k.oneOf("synchronizer.sync_method", string(s.SyncMethod), methods)
	styles, _ := s.SyncStyle.choices()
	k.oneOf("synchronizer.sync_style", string(s.SyncStyle), styles)
	atLeast(k, "synchronizer.sync_interval", s.SyncInterval, 1)
	k.optional("synchronizer.explorer_sync_interval", s.ExplorerSyncInterval)
	k.optional("synchronizer.trainer_sync_interval", s.TrainerSyncInterval)
	atLeast(k, "synchronizer.sync_offset", s.SyncOffset, 0)
	k.positive("synchronizer.sync_timeout", s.SyncTimeout)
}

func (k *checker) trainer() {
	t := &k.c.Trainer
	k.oneOf("trainer.trainer_type", t.TrainerType, []string{"verl", "tinker"})
	if t.TrainerType == "tinker" && !k.c.Model.Tinker.Enable {
		k.bad("trainer.trainer_type", "is tinker, but model.tinker.enable is false; set model.tinker.enable: true")
	}
	if t.TrainerConfigPath != "" && len(t.TrainerConfig) == 0 {
		k.bad("trainer.trainer_config_path", "is no longer read; put the keys into the configuration itself")
	}
	k.oneOf("trainer.save_hf_checkpoint", t.SaveHFCheckpoint, []string{"last", "always", "never"})
	atLeast(k, "trainer.save_interval", t.SaveInterval, 0)
	k.optional("trainer.total_steps", t.TotalSteps)
	if n := t.MaxCheckpoints; n != nil {
		atLeast(k, "trainer.max_checkpoints_to_keep", *n, 0)
	}
	atLeast(k, "trainer.grad_clip", t.GradClip, 0)
	k.stateName("trainer.name", t.Name)
	if t.Name == k.c.Explorer.Name {
		k.bad("trainer.name", "is %s, as explorer.name is; their state files would be one, so name them differently",
			document.Quote(t.Name))
	}
}

// optional wants nothing, or a number of at least 1.
func (k *checker) optional(key string, v *int) {
	if v != nil {
		atLeast(k, key, *v, 1)
	}
}

// stateName wants a name that can begin the name of a file.
func (k *checker) stateName(key, name string) {
	if name == "" || strings.ContainsAny(name, `/\`) {
		k.bad(key, "is %s; it must be a plain name, state files begin with it", document.Quote(name))
	}
}

func (k *checker) monitor() {
	kinds := slices.Concat([]string{"tensorboard", "wandb", "mlflow", "trackio"}, k.c.own.Monitors)
	if kind := k.c.Monitor.MonitorType; kind == "swanlab" && !slices.Contains(kinds, kind) {
		k.bad("monitor.monitor_type", "is \"swanlab\", which has no public format or protocol to write; choose %s",
			orList(kinds))
	} else {
		k.oneOf("monitor.monitor_type", kind, kinds)
	}
	k.oneOf("log.level", strings.ToUpper(k.c.Log.Level), []string{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})
}

func (k *checker) stages() {
	seen := map[string]bool{}
	for i, s := range k.c.Stages {
		key := document.Index("stages", i) + ".stage_name"
		switch {
		case s.StageName == "":
			k.bad(key, "is missing; each stage needs a name, its job directory ends in it")
		case !filepath.IsLocal(s.StageName):
			k.bad(key, "is %s; use a plain name", document.Quote(s.StageName))
		case seen[s.StageName]:
			k.bad(key, "is %s, as an earlier stage is; name them differently", document.Quote(s.StageName))
		}
		seen[s.StageName] = true
	}
}
