package config

// Buffer is the section `buffer`: where tasks come from and where experiences go.
type Buffer struct {
	BatchSize      int  `yaml:"batch_size"`       // tasks per explore step
	TrainBatchSize int  `yaml:"train_batch_size"` // experiences per train step; not given: batch_size × repeat_times
	TotalEpochs    int  `yaml:"total_epochs"`
	TotalSteps     *int `yaml:"total_steps"` // wins over total_epochs

	ExplorerInput ExplorerInput `yaml:"explorer_input"`
	TrainerInput  TrainerInput  `yaml:"trainer_input"`

	_ struct{} `auto:"explorer_output,tokenizer_path,cache_dir"`
}

func (b *Buffer) defaults() {
	b.BatchSize = 1
	b.TotalEpochs = 1
}

// ExplorerInput is the section `buffer.explorer_input`. Taskset and Tasksets exclude each other; use
// [ExplorerInput.Training] to read whichever is given.
type ExplorerInput struct {
	Taskset                 *Taskset  `yaml:"taskset"`
	Tasksets                []Taskset `yaml:"tasksets"`
	EvalTasksets            []Taskset `yaml:"eval_tasksets"`
	DefaultWorkflowType     string    `yaml:"default_workflow_type,null"`
	DefaultEvalWorkflowType string    `yaml:"default_eval_workflow_type,null"`
	DefaultRewardFnType     string    `yaml:"default_reward_fn_type,null"`
}

// TrainerInput is the section `buffer.trainer_input`.
type TrainerInput struct {
	ExperienceBuffer *ExperienceBuffer           `yaml:"experience_buffer"` // null: a queue
	AuxiliaryBuffers map[string]ExperienceBuffer `yaml:"auxiliary_buffers"`
}

// ExperienceBuffer is the section `buffer.trainer_input.experience_buffer`: a queue, a file or a database of
// experiences.
type ExperienceBuffer struct {
	Name              string        `yaml:"name"`
	StorageType       string        `yaml:"storage_type"` // queue, file or sql
	Path              string        `yaml:"path,null"`
	Capacity          int           `yaml:"capacity"`         // items; an item is the list of one put
	MaxReadTimeout    float64       `yaml:"max_read_timeout"` // seconds
	ReplayBuffer      ReplayBuffer  `yaml:"replay_buffer"`
	MaxRetryTimes     int           `yaml:"max_retry_times"`
	MaxRetryInterval  float64       `yaml:"max_retry_interval"` // seconds
	Split             string        `yaml:"split"`
	SubsetName        string        `yaml:"subset_name,null"`
	Format            Format        `yaml:"format"`
	EnableProgressBar bool          `yaml:"enable_progress_bar" applies:"no"`
	DataSelector      *DataSelector `yaml:"data_selector"`
	SchemaType        string        `yaml:"schema_type,null"` // experience, sft, dpo or cpt; not given: the algorithm's
	TotalEpochs       int           `yaml:"total_epochs"`

	_ struct{} `auto:"index,batch_size,total_steps,tokenizer_path,ray_namespace"`
}

func (b *ExperienceBuffer) defaults() {
	b.StorageType = "queue"
	b.Capacity = 10000
	b.MaxReadTimeout = 1800
	b.MaxRetryTimes = 3
	b.MaxRetryInterval = 1
	b.Split = "train"
	b.TotalEpochs = 1
}

// ReplayBuffer is the section `replay_buffer` of an experience buffer.
type ReplayBuffer struct {
	Enable            bool           `yaml:"enable"`
	PriorityFn        string         `yaml:"priority_fn"`
	ReuseCooldownTime *float64       `yaml:"reuse_cooldown_time"` // seconds; null: no reuse
	PriorityFnArgs    map[string]any `yaml:"priority_fn_args"`
}

func (r *ReplayBuffer) defaults() {
	r.PriorityFn = "linear_decay"
	r.PriorityFnArgs = map[string]any{"decay": 2.0}
}
