package service

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// importAdapter makes a checkpoint of the adapter that model.lora_configs[0].path names, if the run begins with it.
// The first start does; later ones find it, whatever has become of the folder.
func importAdapter(j *job.Job, e *engine.Engine) error {
	if !j.Start.Imported {
		return nil
	}
	if _, err := e.Folder(j.Start.State); err == nil || !errors.Is(err, tinker.ErrNotFound) {
		return err
	}
	from := j.Config.StartAdapter()
	dir, err := filepath.Abs(j.Find(from))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	a, err := engine.ReadAdapter(dir)
	if err == nil {
		err = CheckAdapter(a, j.Config, j.Model)
	}
	if err == nil {
		_, err = e.ImportPEFT(j.Model.Name, dir, jobdir.StartModel, jobdir.StartName)
	}
	if err != nil {
		return fmt.Errorf("run: model.lora_configs[0].path %s: %w", from, err)
	}
	return nil
}

// CheckAdapter refuses an adapter that the configuration does not describe.
func CheckAdapter(have engine.Adapter, cfg *config.Config, m *job.Model) error {
	want, named := cfg.LoRA(), cfg.Model.LoRAConfigs[0].BaseModelName
	switch {
	case have.Rank != want.Rank:
		return fmt.Errorf("the adapter has rank %d and lora_rank is %d; set lora_rank: %d", have.Rank, want.Rank,
			have.Rank)
	case have.Alpha != want.Alpha:
		return fmt.Errorf("the adapter has alpha %g and lora_alpha is %g; set lora_alpha: %g", have.Alpha, want.Alpha,
			have.Alpha)
	case !sameModules(have.Modules, want.Modules) && !sameModules(have.Modules, meant(want, m)):
		return fmt.Errorf("the adapter is on %s, target_modules less exclude_modules are %s; set target_modules: [%s]",
			strings.Join(have.Modules, ", "), strings.Join(want.Modules, ", "), strings.Join(have.Modules, ", "))
	case named == "" && have.Base != "" && !sameModel(have.Base, m.Name, m.Dir):
		return fmt.Errorf("the adapter was made for %s, the run trains %s; choose the adapter's model, or say "+
			"base_model_name: %s if that is the same one", have.Base, m.Name, have.Base)
	case named != "" && have.Base != "" && named != have.Base:
		return fmt.Errorf("the adapter was made for %s, and base_model_name is %s", have.Base, named)
	}
	return nil
}

// meant returns the linear layers that the groups of a configuration are in a model; nil if it picks some of them, or
// the model cannot be described.
func meant(want config.LoRA, m *job.Model) []string {
	d, err := engine.Describe(m.Dir)
	if err != nil || someModules(want) != "" {
		return nil
	}
	return d.Modules(want.TrainAttn, want.TrainMLP, want.TrainUnembed)
}

// sameModel says whether an adapter's name of its base model can be the run's: the same last part, whatever the place.
func sameModel(base, name, dir string) bool {
	last := path.Base(filepath.ToSlash(base))
	return strings.EqualFold(last, path.Base(filepath.ToSlash(name))) || strings.EqualFold(last, filepath.Base(dir))
}

func sameModules(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
