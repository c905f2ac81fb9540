package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// Verl has the keys for verl's trainer that mean something without GPUs: those of its own tree, trainer.trainer_config,
// and those that Trinity-RFT 0.6.0 has in sections algorithm and trainer, which win. They count where upstream reads
// them too: with model.tinker.enable false.
type Verl struct {
	Epochs       int  // optimizer steps of the actor on each batch
	CriticEpochs int  // and of the critic
	Recompute    bool // old logprobs come from the weights that a step begins with, not from the sampler
	CriticWarmup *int // steps in which the critic alone learns
	CriticLR     *float64
}

// verlTree is where the tree is in the configuration.
const verlTree = "trainer.trainer_config"

// The paths in the tree that count, with what they do.
const (
	verlEpochs       = "actor_rollout_ref.actor.ppo_epochs"
	verlMicroBatch   = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
	verlMiniBatch    = "actor_rollout_ref.actor.ppo_mini_batch_size"
	verlDynamic      = "actor_rollout_ref.actor.use_dynamic_bsz"
	verlGradClip     = "actor_rollout_ref.actor.grad_clip"
	verlTokenScale   = "actor_rollout_ref.actor.fix_actor_microbatch_loss_scale"
	verlBypass       = "algorithm.rollout_correction.bypass_mode"
	verlReject       = "algorithm.rollout_correction.rollout_rs"
	verlCriticEpochs = "critic.ppo_epochs"
	verlCriticLR     = "critic.optim.lr"
	verlCriticWarmup = "trainer.critic_warmup"
	verlKeep         = "trainer.max_actor_ckpt_to_keep"
)

// Verl reads the tree. A value that is neither a number nor a truth value is as if it were not there; [Config.Validate]
// names it.
func (c *Config) Verl() Verl {
	v := Verl{Epochs: 1, CriticEpochs: 1}
	if c.Model.Tinker.Enable {
		return v
	}
	for path, to := range map[string]*int{verlEpochs: &v.Epochs, verlCriticEpochs: &v.CriticEpochs} {
		if n, ok := c.verlInt(path); ok {
			*to = n
		}
	}
	if bypass, ok := c.verlBool(verlBypass); ok {
		v.Recompute = !bypass
	}
	if bypass, ok := asBool(c.Algorithm.RolloutCorrection["bypass_mode"]); ok {
		v.Recompute = !bypass
	}
	if a := &c.Algorithm; !a.BypassOldLogprobs || c.given("algorithm.bypass_old_logprobs") {
		v.Recompute = !a.BypassOldLogprobs
	}
	n, ok := c.verlInt(verlCriticWarmup)
	if c.Trainer.CriticWarmup != 0 || c.given("trainer.critic_warmup") {
		n, ok = c.Trainer.CriticWarmup, true
	}
	if ok {
		n = max(0, n-1) // verl's actor learns from step critic_warmup on
		v.CriticWarmup = &n
	}
	if lr, ok := c.verlFloat(verlCriticLR); ok {
		v.CriticLR = &lr
	}
	return v
}

// verlValue returns the value at a dotted path of the tree; null counts as none.
func (c *Config) verlValue(path string) (any, bool) {
	var at any = c.Trainer.TrainerConfig
	for name := range strings.SplitSeq(path, ".") {
		section, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		at = section[name]
	}
	return at, at != nil
}

func (c *Config) verlInt(path string) (int, bool) {
	v, ok := c.verlValue(path)
	if !ok {
		return 0, false
	}
	n, ok := document.ParseInt(fmt.Sprint(v))
	return int(n), ok
}

func (c *Config) verlFloat(path string) (float64, bool) {
	v, ok := c.verlValue(path)
	if !ok {
		return 0, false
	}
	return document.ParseFloat(fmt.Sprint(v))
}

func (c *Config) verlBool(path string) (bool, bool) {
	v, _ := c.verlValue(path)
	return asBool(v)
}

// asBool reads a truth value; null is none.
func asBool(v any) (b, ok bool) {
	if v == nil {
		return false, false
	}
	return document.ParseBool(fmt.Sprint(v))
}

// deriveVerl takes over what verl's tree says in the place of other keys, as upstream does, and takes the keys that
// count off the list of those that do not apply.
func (c *Config) deriveVerl() {
	t := &c.Trainer
	if t.MaxCheckpoints != nil && *t.MaxCheckpoints == 0 {
		t.MaxCheckpoints = nil
	}
	if c.Model.Tinker.Enable {
		return
	}
	c.deriveVerlTree()
	used := []string{"algorithm.bypass_old_logprobs", "algorithm.rollout_correction.bypass_mode"}
	tree := []string{verlEpochs, verlMiniBatch, verlGradClip, verlTokenScale, verlBypass, verlKeep}
	if recipe.All()[c.Algorithm.Type].Critic() {
		used = append(used, "trainer.critic_warmup")
		tree = append(tree, verlCriticEpochs, verlCriticLR, verlCriticWarmup)
	}
	for _, path := range tree {
		used = append(used, verlTree+"."+path)
	}
	c.trace.idle = slices.DeleteFunc(c.trace.idle, func(key string) bool { return slices.Contains(used, key) })
	for _, moved := range [][2]string{{verlBypass, "algorithm.bypass_old_logprobs"},
		{verlCriticWarmup, "trainer.critic_warmup"}, {verlKeep, "trainer.max_checkpoints_to_keep"}} {
		if _, there := c.verlValue(moved[0]); there && slices.Contains(tree, moved[0]) {
			c.noteMoved(moved[0], moved[1])
		}
	}
}

// noteMoved says which of two keys counts: one in verl's tree, and the one that 0.6.0 has instead.
func (c *Config) noteMoved(inTree, own string) {
	if c.given(own) {
		c.note("%s.%s is not used: %s is given", verlTree, inTree, own)
		return
	}
	c.note("%s.%s counts here, as in Trinity-RFT 0.5.2; 0.6.0 with verl 0.8 does not read it: write %s", verlTree,
		inTree, own)
}

func (c *Config) deriveVerlTree() {
	t := &c.Trainer
	if clip, ok := c.verlFloat(verlGradClip); ok {
		t.GradClip = clip
		c.derive("trainer.grad_clip", verlTree+"."+verlGradClip)
	}
	if scale, ok := c.verlBool(verlTokenScale); ok {
		t.FixMicrobatchLoss = scale
		c.derive("trainer.fix_actor_microbatch_loss_scale", verlTree+"."+verlTokenScale)
	}
	if n, ok := c.verlInt(verlKeep); ok && n > 0 && !c.given("trainer.max_checkpoints_to_keep") {
		t.MaxCheckpoints = &n
		c.derive("trainer.max_checkpoints_to_keep", verlTree+"."+verlKeep)
	}
	if n, ok := c.verlInt(verlMiniBatch); ok && n != c.Buffer.TrainBatchSize {
		c.note("%s.%s %d is not used: as in Trinity-RFT a mini-batch is buffer.train_batch_size", verlTree,
			verlMiniBatch, n)
	}
}

// verl checks the values of the tree that count, and names near them that are none of verl's.
func (k *checker) verl() {
	c := k.c
	if c.Model.Tinker.Enable {
		return
	}
	for _, path := range []string{verlEpochs, verlMicroBatch, verlMiniBatch, verlCriticEpochs} {
		if v, ok := c.verlValue(path); ok {
			if n, isInt := c.verlInt(path); !isInt || n < 1 {
				k.bad(verlTree+"."+path, "is %v; it must be a whole number, at least 1", v)
			}
		}
	}
	for _, path := range []string{verlCriticWarmup, verlCriticLR, verlGradClip} {
		if v, ok := c.verlValue(path); ok {
			if n, isNumber := c.verlFloat(path); !isNumber || !(n >= 0) {
				k.bad(verlTree+"."+path, "is %v; it must be a number, at least 0", v)
			}
		}
	}
	for _, path := range []string{verlBypass, verlDynamic, verlTokenScale} {
		if v, ok := c.verlValue(path); ok {
			if _, isBool := c.verlBool(path); !isBool {
				k.bad(verlTree+"."+path, "is %v; it must be true or false", v)
			}
		}
	}
	for _, path := range []string{verlEpochs, verlGradClip, verlBypass} {
		i := strings.LastIndexByte(path, '.')
		section, _ := c.verlValue(path[:i])
		keys, _ := section.(map[string]any)
		k.misspelt(verlTree+"."+path[:i], keys, path[i+1:])
	}
	v, _ := c.verlValue(verlReject)
	k.rejection(verlTree+"."+verlReject, v)
	const correction = "algorithm.rollout_correction"
	own := c.Algorithm.RolloutCorrection
	if v := own["bypass_mode"]; v != nil {
		if _, isBool := asBool(v); !isBool {
			k.bad(correction+".bypass_mode", "is %v; it must be true or false", v)
		}
	}
	k.misspelt(correction, own, "bypass_mode")
	k.rejection(correction+".rollout_rs", own["rollout_rs"])
	atLeast(k, "trainer.critic_warmup", c.Trainer.CriticWarmup, 0)
}

func (k *checker) rejection(key string, v any) {
	if v != nil {
		k.bad(key, "is %v, and samples are not rejected by how far the sampler was off: remove it; here sampler and "+
			"trainer agree to the bit, and sample_strategy staleness_control leaves out what is old", v)
	}
}

// misspelt refuses a key beside one that counts, if it is that key with a slip of the pen: it would be taken for one of
// verl's others.
func (k *checker) misspelt(section string, keys map[string]any, counts string) {
	for _, name := range sortedKeys(keys) {
		if name != counts && !verlNeighbour(name) && didYouMean(name, []string{counts}) != "" {
			k.bad(section+"."+name, "unknown key; did you mean %s?", counts)
		}
	}
}

// verlNeighbour reports whether a name that looks like one that counts is another key of verl's.
func verlNeighbour(name string) bool {
	return slices.Contains([]string{"ppo_micro_batch_size", "ppo_mini_batch_size"}, name)
}
