package config

// Synchronizer is the section `synchronizer`: when the explorer gets the trainer's weights.
type Synchronizer struct {
	SyncMethod   SyncMethod `yaml:"sync_method"`
	SyncStyle    SyncStyle  `yaml:"sync_style"`
	SyncInterval int        `yaml:"sync_interval"` // steps between two publications
	// sync_interval for one of the loops
	ExplorerSyncInterval *int    `yaml:"explorer_sync_interval"` // explore steps between two syncs
	TrainerSyncInterval  *int    `yaml:"trainer_sync_interval"`  // train steps between two publications
	SyncOffset           int     `yaml:"sync_offset"`            // steps that the explorer may be ahead
	SyncTimeout          float64 `yaml:"sync_timeout"`           // seconds
	WaitForCheckpoint    bool    `yaml:"wait_for_checkpoint" applies:"no"`

	_ struct{} `auto:"explorer_world_size,ray_namespace"`

	GroupName string `yaml:"group_name" applies:"no"` // of NCCL
}

func (s *Synchronizer) defaults() {
	s.SyncMethod = NCCL
	s.SyncStyle = Fixed
	s.SyncInterval = 1
	s.SyncTimeout = 3600
	s.GroupName = "rollout_weight_sync"
}

// intervals are those of the explorer and of the trainer.
func (s *Synchronizer) intervals() (explorer, trainer int) {
	explorer, trainer = s.SyncInterval, s.SyncInterval
	if n := s.ExplorerSyncInterval; n != nil {
		explorer = *n
	}
	if n := s.TrainerSyncInterval; n != nil {
		trainer = *n
	}
	return explorer, trainer
}

// SyncMethod says how weights travel. NCCL needs GPUs: derivation replaces it by Checkpoint.
type SyncMethod string

// The sync methods.
const (
	NCCL       SyncMethod = "nccl"
	Checkpoint SyncMethod = "checkpoint"
	Memory     SyncMethod = "memory"
)

func (SyncMethod) choices() ([]string, map[string]string) {
	return []string{"nccl", "checkpoint", "memory"}, map[string]string{"online": "nccl", "hccl": "nccl",
		"offline": "checkpoint"}
}

// SyncStyle says who decides that weights travel.
type SyncStyle string

// The sync styles. Newest is ours.
const (
	Fixed          SyncStyle = "fixed"
	TrainerDriven  SyncStyle = "trainer_driven"
	ExplorerDriven SyncStyle = "explorer_driven"
	FullyAsync     SyncStyle = "fully_async"
	Newest         SyncStyle = "newest"
)

// windowed reports whether explore steps begin before earlier ones have ended.
func (s SyncStyle) windowed() bool { return s == FullyAsync || s == Newest }

func (SyncStyle) choices() ([]string, map[string]string) {
	return []string{"fixed", "trainer_driven", "explorer_driven", "fully_async", "newest"},
		map[string]string{"dynamic_by_explorer": "explorer_driven", "dynamic_by_trainer": "trainer_driven"}
}
