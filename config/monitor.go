package config

// Monitor is the section `monitor`. metrics.jsonl is always written; monitor_type names what is written beside it.
type Monitor struct {
	// tensorboard, wandb, mlflow or trackio; upstream's swanlab is refused
	MonitorType       string         `yaml:"monitor_type"`
	MonitorArgs       map[string]any `yaml:"monitor_args"`
	SharedRun         bool           `yaml:"shared_run" applies:"no"` // of upstream's later versions
	DetailedStats     bool           `yaml:"detailed_stats"`
	EnableRayTimeline bool           `yaml:"enable_ray_timeline" applies:"no"`

	_ struct{} `auto:"cache_dir,run_id"`
}

func (m *Monitor) defaults() { m.MonitorType = "tensorboard" }

// Log is the section `log`.
type Log struct {
	Level       string `yaml:"level"` // DEBUG, INFO, WARNING, ERROR or CRITICAL
	GroupByNode bool   `yaml:"group_by_node" applies:"no"`

	_ struct{} `auto:"save_dir"`
}

func (l *Log) defaults() { l.Level = "INFO" }
