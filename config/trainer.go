package config

// Trainer is the section `trainer`: the loop that updates weights.
type Trainer struct {
	Name             string  `yaml:"name"`
	TrainerType      string  `yaml:"trainer_type"`  // verl or tinker; model.tinker.enable decides
	SaveInterval     int     `yaml:"save_interval"` // train steps; 0: only at the end
	EnablePreview    bool    `yaml:"enable_preview" applies:"no"`
	TotalSteps       *int    `yaml:"total_steps"`             // stop after this many
	SaveHFCheckpoint string  `yaml:"save_hf_checkpoint"`      // last, always or never
	GradClip         float64 `yaml:"grad_clip"`               // by global norm; 0: none
	MaxCheckpoints   *int    `yaml:"max_checkpoints_to_keep"` // 0 or null: all; derivation makes both null
	CriticWarmup     int     `yaml:"critic_warmup" applies:"verl"`

	TrainerStrategy      string       `yaml:"trainer_strategy" applies:"no"`
	UseDynamicBsz        bool         `yaml:"use_dynamic_bsz" applies:"no"`
	MaxTokenLenPerGPU    *int         `yaml:"max_token_len_per_gpu" applies:"no"`
	SequenceParallelSize int          `yaml:"ulysses_sequence_parallel_size" applies:"no"`
	FixMicrobatchLoss    bool         `yaml:"fix_actor_microbatch_loss_scale"`
	SaveStrategy         SaveStrategy `yaml:"save_strategy" applies:"no"`
	UseRemovePadding     bool         `yaml:"use_remove_padding" applies:"no"`
	BalanceBatch         bool         `yaml:"balance_batch" applies:"no"`
	ParamOffload         bool         `yaml:"param_offload" applies:"no"`
	OptimizerOffload     bool         `yaml:"optimizer_offload" applies:"no"`
	GradOffload          bool         `yaml:"grad_offload" applies:"no"`
	OffloadPolicy        bool         `yaml:"offload_policy" applies:"no"`
	Megatron             megatron     `yaml:"megatron" applies:"no"`
	// verl's own tree; see Verl for what counts
	TrainerConfig     map[string]any `yaml:"trainer_config" applies:"no"`
	TrainerConfigPath string         `yaml:"trainer_config_path"` // deprecated, refused

	_ struct{} `auto:"trust_remote_code"`
}

func (t *Trainer) defaults() {
	t.Name = "trainer"
	t.TrainerType = "verl"
	t.SaveHFCheckpoint = "last"
	t.GradClip = 1
	t.TrainerStrategy = "fsdp2"
	t.UseDynamicBsz = true
	t.SequenceParallelSize = 1
	t.SaveStrategy = "unrestricted"
	t.UseRemovePadding = true
	t.BalanceBatch = true
}

// megatron is the section `trainer.megatron`, how a model is laid out over GPUs; it does not apply here.
type megatron struct {
	TensorParallel   int  `yaml:"tensor_model_parallel_size"`
	PipelineParallel int  `yaml:"pipeline_model_parallel_size"`
	VirtualPipeline  *int `yaml:"virtual_pipeline_model_parallel_size"`
	ExpertParallel   int  `yaml:"expert_model_parallel_size"`
	ExpertTensor     *int `yaml:"expert_tensor_parallel_size"`
	ContextParallel  int  `yaml:"context_parallel_size"`
	SequenceParallel bool `yaml:"sequence_parallel"`
}

func (m *megatron) defaults() {
	m.TensorParallel = 1
	m.PipelineParallel = 1
	m.ExpertParallel = 1
	m.ContextParallel = 1
	m.SequenceParallel = true
}

// SaveStrategy limits how many processes of verl write a checkpoint at once; it does not apply here.
type SaveStrategy string

func (SaveStrategy) choices() ([]string, map[string]string) {
	return []string{"single_thread", "single_process", "single_node", "unrestricted"}, nil
}
