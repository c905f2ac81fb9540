package config

// Algorithm is the section `algorithm`: how experiences become a loss and the loss an update.
// Function names and arguments left null come from the recipe of the type.
type Algorithm struct {
	Type string `yaml:"algorithm_type"`
	// rollouts per task (the group size); not given: the algorithm's own number
	RepeatTimes int       `yaml:"repeat_times"`
	Optimizer   Optimizer `yaml:"optimizer"`

	SampleStrategy     string         `yaml:"sample_strategy,null"`
	SampleStrategyArgs map[string]any `yaml:"sample_strategy_args"`
	AdvantageFn        string         `yaml:"advantage_fn,null"`
	AdvantageFnArgs    map[string]any `yaml:"advantage_fn_args"`
	KLPenaltyFn        string         `yaml:"kl_penalty_fn,null"`
	KLPenaltyFnArgs    map[string]any `yaml:"kl_penalty_fn_args"`
	PolicyLossFn       string         `yaml:"policy_loss_fn,null"`
	PolicyLossFnArgs   map[string]any `yaml:"policy_loss_fn_args"`
	KLLossFn           string         `yaml:"kl_loss_fn,null"`
	KLLossFnArgs       map[string]any `yaml:"kl_loss_fn_args"`
	EntropyLossFn      string         `yaml:"entropy_loss_fn,null"`
	EntropyLossFnArgs  map[string]any `yaml:"entropy_loss_fn_args"`
	LossAggMode        string         `yaml:"loss_agg_mode,null"`

	RouterReplay bool `yaml:"enable_router_replay" applies:"no"`
	// false: old logprobs come from the weights that a step begins with, not from the sampler; see Verl
	BypassOldLogprobs bool           `yaml:"bypass_old_logprobs" applies:"verl"`
	RolloutCorrection map[string]any `yaml:"rollout_correction" applies:"verl"` // its bypass_mode means the same
}

func (a *Algorithm) defaults() {
	a.Type = "ppo"
	a.BypassOldLogprobs = true
}

// Optimizer is the section `algorithm.optimizer`.
type Optimizer struct {
	LR                 float64   `yaml:"lr"`
	LRWarmupSteps      int       `yaml:"lr_warmup_steps"`       // below 0: use the ratio
	LRWarmupStepsRatio float64   `yaml:"lr_warmup_steps_ratio"` // of trainer.total_steps
	MinLRRatio         float64   `yaml:"min_lr_ratio"`
	WarmupStyle        string    `yaml:"warmup_style,null"` // the old name of lr_scheduler_type
	LRSchedulerType    string    `yaml:"lr_scheduler_type"` // constant or cosine
	OptimizerType      string    `yaml:"optimizer_type"`    // adam or adamw: both are AdamW
	Betas              []float64 `yaml:"betas"`             // two numbers
	WeightDecay        float64   `yaml:"weight_decay"`
	ClipGrad           float64   `yaml:"clip_grad" applies:"no"` // trainer.grad_clip is the one that counts
	// of upstream's main branch
	Fused   *bool `yaml:"fused" applies:"no"`
	Foreach *bool `yaml:"foreach" applies:"no"`
}

func (o *Optimizer) defaults() {
	o.LR = 1e-6
	o.LRWarmupSteps = -1
	o.MinLRRatio = 0.01
	o.LRSchedulerType = "constant"
	o.OptimizerType = "adam"
	o.Betas = []float64{0.9, 0.999}
	o.WeightDecay = 0.01
	o.ClipGrad = 1
}
