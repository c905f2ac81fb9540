package config

// Explorer is the section `explorer`: the loop that samples rollouts.
type Explorer struct {
	Name                       string           `yaml:"name"`
	RunnerPerModel             int              `yaml:"runner_per_model"`
	MaxTimeout                 float64          `yaml:"max_timeout"` // seconds for one attempt at a task
	MaxRetryTimes              int              `yaml:"max_retry_times"`
	EnvVars                    map[string]any   `yaml:"env_vars"`        // of the processes of Python
	ConcurrentMode             string           `yaml:"concurrent_mode"` // sequential, asynchronous or multi-threading
	MaxRepeatTimesPerRunner    *int             `yaml:"max_repeat_times_per_runner"`
	RunnerNum                  *int             `yaml:"runner_num" applies:"no"` // deprecated
	RolloutModel               InferenceModel   `yaml:"rollout_model"`
	AuxiliaryModels            []InferenceModel `yaml:"auxiliary_models"`
	EvalInterval               int              `yaml:"eval_interval"` // explore steps
	EvalOnStartup              bool             `yaml:"eval_on_startup"`
	BenchOnLatestCheckpoint    bool             `yaml:"bench_on_latest_checkpoint"`
	ProxyPort                  int              `yaml:"proxy_port"`
	ListenAddress              string           `yaml:"listen_address"`
	ServiceStatusCheckInterval float64          `yaml:"service_status_check_interval" applies:"no"` // seconds
	MinRunningModelNum         int              `yaml:"min_running_model_num" applies:"no"`
	DBURL                      string           `yaml:"db_url,null"`
	MaxInflightBatches         int              `yaml:"max_inflight_batches"` // explore steps at a time, in some styles
	OverRollout                OverRollout      `yaml:"over_rollout"`
	DynamicTimeout             DynamicTimeout   `yaml:"dynamic_timeout"`
	RunnerConcurrency          int              `yaml:"runner_prepare_concurrency,null" applies:"no"`
	RunnerRetries              int              `yaml:"runner_prepare_max_retries,null" applies:"no"`
	RunnerStateReportInterval  float64          `yaml:"runner_state_report_interval" applies:"no"` // seconds; 0: off
	// ours, for plug-ins in Python
	PythonProcesses   int     `yaml:"python_processes"`
	PythonMemory      int     `yaml:"python_memory"`  // MiB of each process; 0: no limit
	PythonThreads     int     `yaml:"python_threads"` // calls at a time in a process that are no coroutines
	RewardTimeout     float64 `yaml:"reward_timeout"` // seconds for one call of a reward function
	RewardConcurrency int     `yaml:"reward_concurrency"`

	_ struct{} `auto:"mode"` // of upstream's main branch
}

func (e *Explorer) defaults() {
	e.Name = "explorer"
	e.RunnerPerModel = 8
	e.MaxTimeout = 1800
	e.MaxRetryTimes = 2
	e.ConcurrentMode = "sequential"
	e.EvalInterval = 100
	e.MaxInflightBatches = 2
	e.EvalOnStartup = true
	e.ProxyPort = 8010
	e.ListenAddress = "0.0.0.0"
	e.ServiceStatusCheckInterval = 60
	e.MinRunningModelNum = 1
	e.RunnerConcurrency = 8
	e.RunnerRetries = 2
	e.PythonProcesses = 1
	e.PythonThreads = 256
	e.RewardTimeout = 300
	e.RewardConcurrency = 64
}

// OverRollout is the section `explorer.over_rollout`: continue before the slowest share of a batch is in.
type OverRollout struct {
	Ratio        float64 `yaml:"ratio"`
	WaitAfterMin float64 `yaml:"wait_after_min"` // seconds
	// the finished repetitions of a task that is left out count
	ReturnPartialTasks bool `yaml:"return_partial_tasks"`
}

func (o *OverRollout) defaults() { o.WaitAfterMin = 30 }

// DynamicTimeout is the section `explorer.dynamic_timeout`: time out at Ratio times the mean run time.
type DynamicTimeout struct {
	Enable bool    `yaml:"enable"`
	Ratio  float64 `yaml:"ratio"`
	// explore steps that are complete before the mean counts
	WarmupMinSteps int `yaml:"warmup_min_steps"`
}

func (d *DynamicTimeout) defaults() { d.Ratio, d.WarmupMinSteps = 3, 1 }
