package jobdir

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// ImportState copies the state that a stage begins with into the job's own checkpoints, so that its folder is whole.
// Later starts find it.
func (d Dir) ImportState(s Stage) error {
	if s.State == "" {
		return nil
	}
	own := d.Checkpoints()
	if _, err := engine.CheckpointFolder(own, s.State); err == nil {
		return nil
	}
	if err := d.copyState(s, own); err != nil {
		return fmt.Errorf("run: what the stage before this one left: %w", err)
	}
	return nil
}

func (d Dir) copyState(s Stage, own string) error {
	there := filepath.Join(s.Dir, "tinker", "checkpoints")
	from, err := engine.CheckpointFolder(there, s.State)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(there, from)
	if err != nil {
		return err
	}
	to := filepath.Join(own, rel)
	tmp := to + "~stage" // no name of a checkpoint
	if err := errors.Join(d.FS.RemoveAll(tmp), disk.MkdirAll(d.FS, tmp)); err != nil {
		return err
	}
	if err := d.copyFiles(from, tmp, func(string) bool { return true }); err != nil {
		return err
	}
	if err := d.FS.Rename(tmp, to); err != nil {
		return err
	}
	return d.FS.SyncDir(filepath.Dir(to))
}

// Export exports the model of a checkpoint of the local engine.
func (d Dir) Export(step int, checkpoint string) error {
	from, err := engine.CheckpointFolder(d.Checkpoints(), checkpoint)
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	return d.ExportModel(step, from)
}

// ExportModel copies the weights that a full-parameter run saved in folder from to global_step_<n>/actor/huggingface,
// where upstream puts the model: an ordinary Hugging Face folder.
func (d Dir) ExportModel(step int, from string) error {
	to := d.File("global_step_"+strconv.Itoa(step), "actor", "huggingface")
	err := disk.MkdirAll(d.FS, to)
	if err == nil {
		err = d.copyFiles(from, to, func(name string) bool { return !trainingOnly(name) })
	}
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	return nil
}

// trainingOnly are the files of a checkpoint that a model folder does not have.
func trainingOnly(name string) bool {
	return name == "trinity.json" || name == "optimizer.safetensors" || name == "master.safetensors"
}

// copyFiles copies the files in and below a folder that are wanted, each whole or not at all.
func (d Dir) copyFiles(from, to string, wanted func(name string) bool) error {
	names, err := disk.Files(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !wanted(name) {
			continue
		}
		if in := path.Dir(name); in != "." {
			if err := disk.MkdirAll(d.FS, filepath.Join(to, in)); err != nil {
				return err
			}
		}
		if err := disk.CopyFile(d.FS, filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}
