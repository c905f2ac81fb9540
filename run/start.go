package run

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The checkpoint that holds the adapter a run begins with. It stays as long as the job.
const (
	startModel = "adapter"
	startName  = "start"
)

// importAdapter makes a checkpoint of the adapter that model.lora_configs[0].path names, if it names one. The first
// start does; later ones find it, whatever has become of the folder.
func (b *job) importAdapter(e *engine.Engine) error {
	from := b.cfg.StartAdapter()
	if from == "" || b.start != "" {
		return nil
	}
	b.start = tinker.Path{ModelID: startModel, Kind: tinker.KindState, Name: startName}.String()
	b.startSampler = b.start
	if _, err := e.Folder(b.start); err == nil || !errors.Is(err, tinker.ErrNotFound) {
		return err
	}
	dir, err := filepath.Abs(b.Find(from))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	a, err := engine.ReadAdapter(dir)
	if err == nil {
		err = b.checkAdapter(a)
	}
	if err == nil {
		_, err = e.ImportPEFT(b.model.name, dir, startModel, startName)
	}
	if err != nil {
		return fmt.Errorf("run: model.lora_configs[0].path %s: %w", from, err)
	}
	return nil
}

// checkAdapter refuses an adapter that the configuration does not describe.
func (b *job) checkAdapter(a engine.Adapter) error {
	want, have := b.cfg.LoRA(), a
	named := b.cfg.Model.LoRAConfigs[0].BaseModelName
	switch {
	case have.Rank != want.Rank:
		return fmt.Errorf("the adapter has rank %d and lora_rank is %d; set lora_rank: %d", have.Rank, want.Rank,
			have.Rank)
	case have.Alpha != want.Alpha:
		return fmt.Errorf("the adapter has alpha %g and lora_alpha is %g; set lora_alpha: %g", have.Alpha, want.Alpha,
			have.Alpha)
	case !sameModules(have.Modules, want.Modules):
		return fmt.Errorf("the adapter is on %s, target_modules less exclude_modules are %s; set target_modules: [%s]",
			strings.Join(have.Modules, ", "), strings.Join(want.Modules, ", "), strings.Join(have.Modules, ", "))
	case named == "" && a.Base != "" && !sameModel(a.Base, b.model.name, b.model.dir):
		return fmt.Errorf("the adapter was made for %s, the run trains %s; choose the adapter's model, or say "+
			"base_model_name: %s if that is the same one", a.Base, b.model.name, a.Base)
	case named != "" && a.Base != "" && named != a.Base:
		return fmt.Errorf("the adapter was made for %s, and base_model_name is %s", a.Base, named)
	}
	return nil
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
