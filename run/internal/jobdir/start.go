package jobdir

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// StartModel and StartName name the checkpoint that holds the adapter a run begins with. It stays as long as the
// job.
const (
	StartModel = "adapter"
	StartName  = "start"
)

// Start are the paths of the weights that a run begins with. Empty: those of a new adapter.
type Start struct {
	State    string // to train from
	Sampler  string // to sample from
	Imported bool   // the paths name the adapter at model.lora_configs[0].path
}

// StartOf returns what the run of a configuration begins with after the stages that left stage. local says that the
// run is on the engine of this machine, samples that it samples or compares with what it begins with.
func StartOf(cfg *config.Config, stage Stage, local, samples bool) (Start, error) {
	switch {
	case stage.State == "" && local && cfg.StartAdapter() != "":
		path := tinker.Path{ModelID: StartModel, Kind: tinker.KindState, Name: StartName}.String()
		return Start{State: path, Sampler: path, Imported: true}, nil
	case stage.State == "" || local: // the engine samples from a state as well
		return Start{State: stage.State, Sampler: stage.State}, nil
	case stage.Sampler == "" && samples:
		return Start{}, errors.New("run: the stage before this one, which an older version of the program ended, did " +
			"not publish its last weights, so the server cannot sample from them; run the stages again under another " +
			"name")
	}
	return Start{State: stage.State, Sampler: stage.Sampler}, nil
}
