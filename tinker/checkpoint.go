package tinker

import "time"

// Checkpoint describes a saved checkpoint in a service's list.
type Checkpoint struct {
	Path      Path
	SeqID     int64 // of the request that saved it
	BaseModel string
	LoRA      LoRA
	Optimizer bool // it holds the optimizer's state
	// OptimizerType is the saved run's, as in CreateModelRequest.
	OptimizerType string
	Time          time.Time
	Size          int64 // bytes
}
