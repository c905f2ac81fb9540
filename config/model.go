package config

// Model is the section `model`: which model, how long its sequences are, how it is sampled and adapted.
type Model struct {
	ModelPath          string `yaml:"model_path"` // a local folder, or a model's name on the hub or server
	TrustRemoteCode    bool   `yaml:"trust_remote_code" applies:"no"`
	CriticModelPath    string `yaml:"critic_model_path"`
	RandomInit         bool   `yaml:"random_init"`               // ours: start from random weights of the model's shape
	BaseDtype          string `yaml:"base_dtype,null"`           // ours: of frozen weights; null: as begun, or bf16
	CustomChatTemplate string `yaml:"custom_chat_template,null"` // Jinja text; chat_template_path wins over it
	ChatTemplatePath   string `yaml:"chat_template_path,null"`

	Temperature       float64 `yaml:"temperature"`
	TopP              float64 `yaml:"top_p"`
	TopK              int     `yaml:"top_k"` // -1: all tokens
	Logprobs          int     `yaml:"logprobs" applies:"no"`
	RepetitionPenalty float64 `yaml:"repetition_penalty"`

	MaxModelLen            *int  `yaml:"max_model_len"` // tokens; derivation fills these three
	MaxPromptTokens        *int  `yaml:"max_prompt_tokens"`
	MaxResponseTokens      *int  `yaml:"max_response_tokens"`
	MinResponseTokens      int   `yaml:"min_response_tokens"`
	EnablePromptTruncation bool  `yaml:"enable_prompt_truncation"` // an over-long prompt becomes a masked experience
	EnableThinking         *bool `yaml:"enable_thinking"`          // passed to the chat template

	LoRAConfigs       []LoRAConfig   `yaml:"lora_configs"`
	FullyShardedLoRAs bool           `yaml:"fully_sharded_loras" applies:"no"`
	MaxCPULoRAs       *int           `yaml:"max_cpu_loras" applies:"no"`
	RopeScaling       map[string]any `yaml:"rope_scaling"`
	RopeTheta         *float64       `yaml:"rope_theta"`

	Tinker        Tinker        `yaml:"tinker"`
	ExternalModel ExternalModel `yaml:"external_model"`
}

func (m *Model) defaults() {
	m.Temperature = 1
	m.TopP = 1
	m.TopK = -1
	m.RepetitionPenalty = 1
	m.EnablePromptTruncation = true
}

// Tinker is the section `model.tinker`: training through the Tinker API, in this process or on a server.
type Tinker struct {
	Enable       bool   `yaml:"enable"`
	BaseModel    string `yaml:"base_model,null"` // null: model.model_path
	Rank         int    `yaml:"rank"`            // 0 (ours): train all weights, local engine only
	Seed         *int64 `yaml:"seed"`            // of the adapter's initial weights; null: from the run's seed
	TrainMLP     bool   `yaml:"train_mlp"`
	TrainAttn    bool   `yaml:"train_attn"`
	TrainUnembed bool   `yaml:"train_unembed"`
	FullParam    bool   `yaml:"full_param"`    // of upstream's later versions: rank 0
	BaseURL      string `yaml:"base_url,null"` // a server, or "local" for the engine in this process

	// Of upstream's later versions: how gradients are sent in pieces, and losses that a server computes. The pieces are
	// the client's affair here, and every loss is computed here.
	ChunkBytes  *int           `yaml:"forward_backward_chunk_bytes" applies:"no"`
	MaxInflight *int           `yaml:"forward_backward_max_inflight" applies:"no"`
	ChunkCap    *int           `yaml:"sdk_chunk_bytes_cap" applies:"no"`
	ServerLoss  string         `yaml:"server_loss_fn,null" applies:"no"`
	ServerArgs  map[string]any `yaml:"server_loss_fn_config" applies:"no"`
	ServerMask  bool           `yaml:"server_loss_send_mask" applies:"no"`
}

func (t *Tinker) defaults() {
	t.Rank = 32
	t.TrainMLP = true
	t.TrainAttn = true
	t.TrainUnembed = true
}

// LoRAConfig is one entry of `model.lora_configs`; at most one is allowed.
type LoRAConfig struct {
	Name           string  `yaml:"name,null" applies:"no"`
	Path           string  `yaml:"path,null"`            // PEFT folder of the adapter to begin with; empty: a fresh one
	BaseModelName  string  `yaml:"base_model_name,null"` // what that adapter calls its base model, if not model_path
	LoRARank       int     `yaml:"lora_rank"`
	LoRAAlpha      float64 `yaml:"lora_alpha"`
	LoRADtype      string  `yaml:"lora_dtype" applies:"no"`
	TargetModules  Strings `yaml:"target_modules"` // all-linear, or names such as q_proj
	ExcludeModules Strings `yaml:"exclude_modules"`
	IsDummy        bool    `yaml:"is_dummy"` // path is an untrained adapter that upstream made: a fresh one
}

func (l *LoRAConfig) defaults() {
	l.LoRARank = 32
	l.LoRAAlpha = 32
	l.LoRADtype = "auto"
	l.TargetModules = Strings{"all-linear"}
}

// Strings is a list of strings that may also be written as a single string.
type Strings []string

// ExternalModel is the section `model.external_model`: an OpenAI-compatible endpoint to evaluate, in mode bench only.
type ExternalModel struct {
	Enable     bool   `yaml:"enable"`
	BaseURLEnv string `yaml:"base_url_env"` // names of environment variables
	APIKeyEnv  string `yaml:"api_key_env"`
	ModelName  string `yaml:"model_name,null"`
}

func (e *ExternalModel) defaults() {
	e.BaseURLEnv = "OPENAI_BASE_URL"
	e.APIKeyEnv = "OPENAI_API_KEY"
}

// BaseModel is the model that is trained or evaluated: model.tinker.base_model when Tinker is enabled and it is
// given, else model.model_path.
func (m *Model) BaseModel() string {
	if m.Tinker.Enable && m.Tinker.BaseModel != "" {
		return m.Tinker.BaseModel
	}
	return m.ModelPath
}
