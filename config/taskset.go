package config

// Taskset is one entry of `buffer.explorer_input`: a dataset of tasks and how they are run.
type Taskset struct {
	Name                string         `yaml:"name"`
	StorageType         string         `yaml:"storage_type"` // file, sql or task_dir
	Path                string         `yaml:"path,null"`
	DefaultWorkflowType string         `yaml:"default_workflow_type,null"`
	DefaultRewardFnType string         `yaml:"default_reward_fn_type,null"`
	RolloutArgs         RolloutArgs    `yaml:"rollout_args"`
	WorkflowArgs        map[string]any `yaml:"workflow_args"`
	RewardFnArgs        map[string]any `yaml:"reward_fn_args"`
	TaskSelector        *DataSelector  `yaml:"task_selector"` // the old name of data_selector
	DataSelector        *DataSelector  `yaml:"data_selector"`
	Split               string         `yaml:"split"`
	SubsetName          string         `yaml:"subset_name,null"`
	Format              Format         `yaml:"format"`
	MaxRetryTimes       int            `yaml:"max_retry_times"`
	MaxRetryInterval    float64        `yaml:"max_retry_interval"` // seconds
	EnableProgressBar   bool           `yaml:"enable_progress_bar" applies:"no"`
	// of an evaluation taskset; training ones take algorithm.repeat_times
	RepeatTimes int `yaml:"repeat_times"`

	_ struct{} `auto:"index,is_eval,batch_size,total_epochs,total_steps,ray_namespace"`
}

func (t *Taskset) defaults() {
	t.StorageType = "file"
	t.Split = "train"
	t.MaxRetryTimes = 3
	t.MaxRetryInterval = 1
	t.RepeatTimes = 1
}

// RolloutArgs is the section `rollout_args` of a taskset. A null is filled from section model; after
// derivation none of the pointers is nil.
type RolloutArgs struct {
	Temperature *float64 `yaml:"temperature"`
	TopP        *float64 `yaml:"top_p"`
	TopK        *int     `yaml:"top_k"`
	Logprobs    *int     `yaml:"logprobs" applies:"no"`
	MaxTokens   *int     `yaml:"max_tokens"`

	_ struct{} `auto:"n"`
}

// DataSelector is the section `data_selector`: the order in which rows are taken.
type DataSelector struct {
	// sequential, shuffle, random, offline_easy2hard, difficulty_based
	SelectorType string         `yaml:"selector_type"`
	Seed         int64          `yaml:"seed"`
	FeatureKeys  []string       `yaml:"feature_keys"`
	Kwargs       map[string]any `yaml:"kwargs"`
}

func (d *DataSelector) defaults() {
	d.SelectorType = "sequential"
	d.Seed = 42
}

// Format is the section `format` of a dataset: which column means what. Keys are literal column names; a dot in them
// does not descend.
type Format struct {
	PromptType       PromptType `yaml:"prompt_type"`
	PromptKey        string     `yaml:"prompt_key"`
	ResponseKey      string     `yaml:"response_key"`
	SystemPromptKey  string     `yaml:"system_prompt_key,null"`
	SystemPrompt     string     `yaml:"system_prompt,null"`
	MessagesKey      string     `yaml:"messages_key"`
	ToolsKey         string     `yaml:"tools_key"`
	ImageKey         string     `yaml:"image_key,null"`
	VideoKey         string     `yaml:"video_key,null"`
	ReplyPrefix      string     `yaml:"reply_prefix,null"`
	WorkflowKey      string     `yaml:"workflow_key"`
	RewardFnKey      string     `yaml:"reward_fn_key"`
	ChosenKey        string     `yaml:"chosen_key"`
	RejectedKey      string     `yaml:"rejected_key"`
	ConcatenatedTurn bool       `yaml:"enable_concatenated_multi_turn"`
	ChatTemplate     string     `yaml:"chat_template,null"`
	EnableThinking   *bool      `yaml:"enable_thinking"`
}

func (f *Format) defaults() {
	f.PromptType = Messages
	f.PromptKey = "prompt"
	f.ResponseKey = "response"
	f.MessagesKey = "message"
	f.ToolsKey = "tools"
	f.ChosenKey = "chosen"
	f.RejectedKey = "rejected"
}

// PromptType says whether rows hold lists of messages or plain texts.
type PromptType string

// The prompt types.
const (
	Messages  PromptType = "messages"
	Plaintext PromptType = "plaintext"
)

func (PromptType) choices() ([]string, map[string]string) {
	return []string{"messages", "plaintext"}, nil
}
