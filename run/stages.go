package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
)

// stage is the place of a job in a run of several stages.
type stage struct {
	dir     string // the job directory of the stage that trained last
	state   string // the path of the state that it ended with; empty in the first stage that trains
	sampler string // the same weights to sample from
}

// stageMeta is stage_meta.json, upstream's: the stage that was begun last.
type stageMeta struct {
	Latest int `json:"latest_stage"`
}

// runStages runs the stages of a configuration one after another, each in a job directory of its own and with the
// weights that the one before it ended with. After a kill the stage that was begun last goes on.
func runStages(ctx context.Context, cfg *config.Config, o Options) (sum *Summary, err error) {
	if !cfg.Continue {
		cfg.StartFresh(o.Now())
	}
	root := cfg.JobDir()
	unlock, err := o.takeLock(ctx, root, roleStages)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	meta, err := readStageMeta(root)
	if err != nil {
		return nil, err
	}
	if meta.Latest >= len(cfg.Stages) {
		return nil, fmt.Errorf("run: %s was at stage %d, and there are %d; put the missing stages back, or use another name for a new job", root, meta.Latest, len(cfg.Stages))
	}
	var place stage
	for i := range meta.Latest {
		if err := place.pass(cfg, i); err != nil {
			return nil, err
		}
		if err := sayPassed(cfg, i, o.Out); err != nil {
			return nil, err
		}
	}
	for i := meta.Latest; i < len(cfg.Stages); i++ {
		if err := writeStageMeta(o.fs, root, stageMeta{i}); err != nil {
			return nil, err
		}
		fmt.Fprintf(o.Out, "stage    %d of %d: %s\n", i+1, len(cfg.Stages), cfg.Stages[i].StageName)
		if sum, err = runStage(ctx, cfg, i, place, o); err != nil {
			return nil, err
		}
		if err := place.pass(cfg, i); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func runStage(ctx context.Context, cfg *config.Config, i int, place stage, o Options) (*Summary, error) {
	s, err := cfg.Stage(i)
	if err != nil {
		return nil, err
	}
	s.Continue = true // in a directory that the run may have begun anew
	if place.state != "" {
		s.Model.RandomInit = false
	}
	o.stage = &place
	sum, err := runOne(ctx, s, o)
	if err != nil && !errors.Is(err, ErrInterrupted) {
		err = fmt.Errorf("stage %s: %w", cfg.Stages[i].StageName, err)
	}
	return sum, err
}

// pass takes over the weights that a finished stage left. A stage that trains nothing leaves those that it began with.
func (p *stage) pass(cfg *config.Config, i int) error {
	s, err := cfg.Stage(i)
	if err != nil {
		return err
	}
	if !s.Mode.Trains() {
		return nil
	}
	dir := s.JobDir()
	state, err := noted(dir, "latest_checkpointed_iteration.txt", "remote_checkpoint_path.txt")
	if errors.Is(err, fs.ErrNotExist) {
		last, serr := trainer.ReadState(dir, s.Trainer.Name)
		if begun := exists(filepath.Join(dir, "run.json")); begun && serr == nil && last.Step == 0 {
			return nil // nothing was left to train on
		}
	}
	if err != nil {
		return fmt.Errorf("run: stage %s has left no state to go on from: %w", cfg.Stages[i].StageName, err)
	}
	sampler, err := noted(dir, "latest_state_dict_iteration.txt", "remote_sampler_path.txt")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("run: stage %s: %w", cfg.Stages[i].StageName, err)
	}
	p.dir, p.state, p.sampler = dir, state, sampler
	return nil
}

// sayPassed tells the user when a stage is planned longer than it was, which counts no more: a later one has begun with its weights.
func sayPassed(cfg *config.Config, i int, out io.Writer) error {
	s, err := cfg.Stage(i)
	if err != nil || !s.Mode.Trains() || s.Trainer.TotalSteps == nil {
		return err
	}
	state, err := trainer.ReadState(s.JobDir(), s.Trainer.Name)
	if err == nil && state.Step < *s.Trainer.TotalSteps {
		fmt.Fprintf(out, "note: stage %s ended with step %d and is not continued to step %d, since stage %s has begun with its weights; for a longer one use another name\n",
			cfg.Stages[i].StageName, state.Step, *s.Trainer.TotalSteps, cfg.Stages[i+1].StageName)
	}
	return err
}

// noted reads the path in the folder of the step that a file of the job directory names.
func noted(dir, latest, file string) (string, error) {
	step, err := os.ReadFile(filepath.Join(dir, latest))
	if err != nil {
		return "", err
	}
	path, err := os.ReadFile(filepath.Join(dir, "global_step_"+strings.TrimSpace(string(step)), file))
	return strings.TrimSpace(string(path)), err
}

func readStageMeta(root string) (m stageMeta, err error) {
	path := filepath.Join(root, "stage_meta.json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = errors.Join(disk.Unseal(data), json.Unmarshal(data, &m))
	}
	if err != nil || m.Latest < 0 {
		return m, fmt.Errorf("run: %s cannot be read: %w; restore it, or use another name for a new job", path, errors.Join(err))
	}
	return m, nil
}

func writeStageMeta(dfs disk.FS, root string, m stageMeta) error {
	if err := dfs.MkdirAll(root); err != nil {
		return fmt.Errorf("run: job directory: %w", err)
	}
	return disk.WriteJSON(dfs, filepath.Join(root, "stage_meta.json"), m)
}

// beginStage sets what the model of a later stage begins with.
func (b *job) beginStage(context.Context) error {
	if b.stage == nil || b.stage.state == "" {
		return nil
	}
	b.start, b.startSampler = b.stage.state, b.stage.state
	if b.backend.Kind == config.Local {
		return nil // the engine samples from a state as well
	}
	if b.stage.sampler == "" && (b.cfg.Mode.Explores() || b.method.Needs().Ref) {
		return errors.New("run: the stage before this one published no weights that the server could sample from; give it a number of steps (trainer.total_steps)")
	}
	b.startSampler = b.stage.sampler
	return nil
}

// reference is the path of the weights that the loss compares with: in a later stage, as upstream has it, those that
// the stage began with; else none, which is the base model.
func (b *job) reference() string {
	if b.stage == nil || b.stage.state == "" {
		return ""
	}
	return b.startSampler
}

// importState copies the state that a stage begins with into its own checkpoints, so that its job directory is whole.
// Later starts find it.
func (b *job) importState() error {
	if b.stage == nil || b.stage.state == "" {
		return nil
	}
	own := filepath.Join(b.dir, "tinker", "checkpoints")
	if _, err := engine.CheckpointFolder(own, b.stage.state); err == nil {
		return nil
	}
	from, err := engine.CheckpointFolder(filepath.Join(b.stage.dir, "tinker", "checkpoints"), b.stage.state)
	if err != nil {
		return fmt.Errorf("run: what the stage before this one left: %w", err)
	}
	rel, err := filepath.Rel(filepath.Join(b.stage.dir, "tinker", "checkpoints"), from)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	to := filepath.Join(own, rel)
	tmp := to + "~stage" // no name of a checkpoint
	err = errors.Join(b.fs.RemoveAll(tmp), b.fs.MkdirAll(tmp))
	files, lerr := os.ReadDir(from)
	err = errors.Join(err, lerr)
	for _, f := range files {
		if err == nil {
			err = b.copyFile(filepath.Join(from, f.Name()), filepath.Join(tmp, f.Name()))
		}
	}
	if err == nil {
		err = b.fs.Rename(tmp, to)
	}
	if err == nil {
		err = b.fs.SyncDir(filepath.Dir(to))
	}
	if err != nil {
		return fmt.Errorf("run: what the stage before this one left: %w", err)
	}
	return nil
}
