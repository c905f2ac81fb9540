package config

// InferenceModel is the section `explorer.rollout_model` and each of `explorer.auxiliary_models`. A null
// is filled from section model.
type InferenceModel struct {
	ModelPath       string `yaml:"model_path,null"` // of an auxiliary model; the rollout model is section model's
	Name            string `yaml:"name,null"`
	TrustRemoteCode bool   `yaml:"trust_remote_code" applies:"no"`
	EngineType      string `yaml:"engine_type" applies:"no"` // vllm…, tinker or external: the run's backend decides
	EngineNum       int    `yaml:"engine_num"`               // runners = engine_num × explorer.runner_per_model
	Seed            int64  `yaml:"seed" applies:"no"`        // names the sampling streams, together with the run's seed

	TensorParallelSize   int            `yaml:"tensor_parallel_size" applies:"no"`
	DataParallelSize     int            `yaml:"data_parallel_size" applies:"no"`
	PipelineParallelSize int            `yaml:"pipeline_parallel_size" applies:"no"`
	EnableExpertParallel bool           `yaml:"enable_expert_parallel" applies:"no"`
	UseV1                bool           `yaml:"use_v1" applies:"no"`
	EnforceEager         bool           `yaml:"enforce_eager" applies:"no"`
	EnablePrefixCaching  bool           `yaml:"enable_prefix_caching" applies:"no"`
	EnableChunkedPrefill bool           `yaml:"enable_chunked_prefill" applies:"no"`
	GPUMemoryUtilization float64        `yaml:"gpu_memory_utilization" applies:"no"`
	ExtraEngineArgs      map[string]any `yaml:"extra_engine_args" applies:"no"`
	BasePort             *int           `yaml:"base_port" applies:"no"`
	WeightSyncBufferSize int            `yaml:"weight_sync_buffer_size,null" applies:"no"`
	Dtype                string         `yaml:"dtype" applies:"no"`

	Temperature            *float64 `yaml:"temperature" applies:"no"`
	TopP                   *float64 `yaml:"top_p"`
	TopK                   *int     `yaml:"top_k"`
	Logprobs               *int     `yaml:"logprobs" applies:"no"`
	MaxModelLen            *int     `yaml:"max_model_len" applies:"no"`
	MaxPromptTokens        *int     `yaml:"max_prompt_tokens" applies:"no"`
	MaxResponseTokens      *int     `yaml:"max_response_tokens"`
	MinResponseTokens      *int     `yaml:"min_response_tokens"`
	EnablePromptTruncation *bool    `yaml:"enable_prompt_truncation" applies:"no"`
	RepetitionPenalty      *float64 `yaml:"repetition_penalty"`
	IgnoreEOS              bool     `yaml:"ignore_eos"`
	ChatTemplate           string   `yaml:"chat_template,null"`
	EnableThinking         *bool    `yaml:"enable_thinking"`
	EnableMultimodal       bool     `yaml:"enable_multimodal" applies:"no"` // true is refused

	EnableHistory        bool   `yaml:"enable_history" applies:"no"`
	EnableOpenAIAPI      bool   `yaml:"enable_openai_api" applies:"no"`
	EnableLogRequests    bool   `yaml:"enable_log_requests" applies:"no"`
	APIKey               string `yaml:"api_key" applies:"no"` // of the engine's own server
	RoutedExperts        bool   `yaml:"enable_return_routed_experts" applies:"no"`
	EnableAutoToolChoice bool   `yaml:"enable_auto_tool_choice" applies:"no"`
	ToolCallParser       string `yaml:"tool_call_parser,null" applies:"no"`
	ReasoningParser      string `yaml:"reasoning_parser,null" applies:"no"`

	_ struct{} `auto:"external_model_config,bundle_indices,ray_namespace,cuda_visible_devices,enable_lora"`
	_ struct{} `auto:"enable_runtime_lora_updating,lora_modules,lora_kwargs,rope_scaling,rope_theta"`
	_ struct{} `auto:"gpu_per_engine,nnodes,node_rank,engine_id,ray_actor_name,sync_method,checkpoint_job_dir"`
}

func (m *InferenceModel) defaults() {
	m.EngineType = "vllm"
	m.EngineNum = 1
	m.Seed = 42
	m.TensorParallelSize = 1
	m.DataParallelSize = 1
	m.PipelineParallelSize = 1
	m.WeightSyncBufferSize = 1024
	m.APIKey = "EMPTY"
	m.UseV1 = true
	m.EnablePrefixCaching = true
	m.EnableChunkedPrefill = true
	m.GPUMemoryUtilization = 0.9
	m.Dtype = "bfloat16"
}
