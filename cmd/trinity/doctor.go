package main

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/diagnosis"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
)

type doctorCmd struct {
	Model   string `arg:"" optional:"" help:"A folder, a GGUF file, or a name on the hub or in Ollama."`
	Rank    int    `help:"LoRA rank for the memory estimate." default:"32"`
	Length  int    `help:"Tokens per sample, prompt and answer together." default:"1024"`
	Samples int    `help:"Samples decoded together." default:"64"`
	Measure bool   `help:"Load the model and measure tokens per second (default true)." default:"true" negatable:""`
	Base    string `name:"base-dtype" help:"Weights: bf16, int8, int4 or auto." default:"bf16" placeholder:"DTYPE"`
	Threads int    `help:"Threads of the local engine; 0 is all." default:"0"`
}

// Run implements the command: it describes a model, its memory needs and its speed on this machine; without one, the
// machine.
func (c *doctorCmd) Run(s *surroundings) error {
	if c.Rank < 1 || c.Length < 2 || c.Samples < 1 {
		return usageError{errors.New("trinity: --rank must be at least 1, --length at least 2, --samples at least 1")}
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM) // there is nothing to save
	if c.Model == "" {
		return c.machine(s)
	}
	dir, err := s.model(c.Model)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if c.Base, err = engine.ChooseBaseDtype(c.Base, dir, machine.Memory(), dir); err != nil {
		return usageError{err}
	}
	d := diagnosis.Diagnosis{Out: s.out, Model: c.Model, Dir: dir, Rank: c.Rank, Length: c.Length, Samples: c.Samples,
		Threads: c.Threads, Base: c.Base}
	need, err := d.Describe(s.ctx)
	if err != nil || !c.Measure {
		return err
	}
	return d.Speed(s.ctx, need)
}

// machine describes this machine by the models that people train.
func (c *doctorCmd) machine(s *surroundings) error {
	if !c.Measure || c.Base == engine.BaseAuto {
		return usageError{errors.New("trinity: --no-measure and --base-dtype auto need a model; without one, doctor " +
			"measures this machine")}
	}
	d := diagnosis.Diagnosis{Out: s.out, Rank: c.Rank, Length: c.Length, Samples: c.Samples, Threads: c.Threads,
		Base: c.Base}
	return d.Machine(s.ctx)
}
