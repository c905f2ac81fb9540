package jobdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
)

// Stage is the result of the earlier stages of a run. It is zero for the first stage that trains.
type Stage struct {
	Dir     string // the job directory of the stage that trained last
	State   string // the path of the state that it ended with; empty when none has trained
	Sampler string // the same weights to sample from; empty when it published none
}

// stageMeta is stage_meta.json, upstream's: the stage that was begun last.
type stageMeta struct {
	Latest int `json:"latest_stage"`
}

// LatestStage reads which stage of a configuration was begun last; 0 for a new run.
func (d Dir) LatestStage(cfg *config.Config) (int, error) {
	n, path := len(cfg.Stages), d.stageFile(cfg)
	var m stageMeta
	err := disk.ReadJSON(path, &m)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil && m.Latest < 0 {
		err = fmt.Errorf("latest_stage is %d", m.Latest)
	}
	if err != nil {
		return 0, fmt.Errorf("run: %s cannot be read: %w; restore it, or use another name for a new job", path, err)
	}
	if m.Latest >= n {
		return 0, fmt.Errorf("run: %s was at stage %d, and there are %d; put the missing stages back, or use "+
			"another name for a new job", d.Path, m.Latest, n)
	}
	return m.Latest, nil
}

// stageFile is stage_meta.json. Trinity-RFT before 0.6.0 wrote it into the project's folder, outside the group: that
// one is read for a job that has none, if a stage was begun in the group.
func (d Dir) stageFile(cfg *config.Config) string {
	path := d.File("stage_meta.json")
	if _, err := os.Stat(path); err == nil || cfg.Group == "" {
		return path
	}
	first, err := cfg.Stage(0)
	if err != nil {
		return path
	}
	if _, err := os.Stat(first.JobDir()); err != nil {
		return path
	}
	return filepath.Join(cfg.CheckpointRoot, cfg.Project, cfg.Name, "stage_meta.json")
}

// BeginStage notes that stage i begins.
func (d Dir) BeginStage(i int) error {
	if err := d.Make(); err != nil {
		return err
	}
	return disk.WriteJSON(d.FS, d.File("stage_meta.json"), stageMeta{i})
}

// After returns the result after stage i of a configuration, which is over. A stage that trains nothing does not change
// it.
func (s Stage) After(cfg *config.Config, i int) (Stage, error) {
	c, err := cfg.Stage(i)
	if err != nil || !c.Mode.Trains() {
		return s, err
	}
	dir := c.JobDir()
	saved, state, err := noted(dir, "latest_checkpointed_iteration.txt", "remote_checkpoint_path.txt")
	if errors.Is(err, fs.ErrNotExist) {
		last, serr := trainer.ReadState(dir, c.Trainer.Name)
		_, begun := os.Stat(filepath.Join(dir, identityFile))
		if begun == nil && serr == nil && last.Step == 0 {
			return s, nil // nothing was left to train on
		}
	}
	if err != nil {
		return s, fmt.Errorf("run: stage %s left no state to continue from: %w", cfg.Stages[i].StageName, err)
	}
	published, sampler, err := noted(dir, "latest_state_dict_iteration.txt", "remote_sampler_path.txt")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("run: stage %s: %w", cfg.Stages[i].StageName, err)
	}
	if published != saved {
		sampler = "" // of other weights: the stage ended before the step at which it would have published its last
	}
	return Stage{dir, state, sampler}, nil
}

// noted reads which step a file of the job directory names, and the path in the step's folder.
func noted(dir, latest, file string) (step, path string, err error) {
	raw, err := os.ReadFile(filepath.Join(dir, latest))
	if err != nil {
		return "", "", err
	}
	step = strings.TrimSpace(string(raw))
	raw, err = os.ReadFile(filepath.Join(dir, "global_step_"+step, file))
	return step, strings.TrimSpace(string(raw)), err
}

// SayPassed tells the user when a stage is planned longer than it was, which counts no more: a later one has begun
// with its weights. steps is how many it has now by its data and trainer.total_steps, 0 if the data are not known.
func SayPassed(cfg *config.Config, i, steps int, out io.Writer) error {
	s, err := cfg.Stage(i)
	if err != nil || !s.Mode.Trains() || s.Trainer.TotalSteps == nil {
		return err
	}
	if steps == 0 {
		steps = *s.Trainer.TotalSteps
	}
	state, err := trainer.ReadState(s.JobDir(), s.Trainer.Name)
	if err == nil && steps > max(state.Step, state.Planned) {
		fmt.Fprintf(out, "note: stage %s ended with step %d and is not continued to step %d, since stage %s has "+
			"begun with its weights; for a longer one use another name\n",
			cfg.Stages[i].StageName, state.Step, steps, cfg.Stages[i+1].StageName)
	}
	return err
}
