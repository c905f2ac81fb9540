package run

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// between is what lies between the loops.
type between struct {
	exchange buffer.Exchange      // nil: a trainer learns from a data set
	table    *buffer.Table        // the exchange, if it is one
	report   *synchronizer.Report // nil: no explorer of another process follows the trainer
}

// exchangeOptions are what it takes to open what lies between the loops of a configuration.
type exchangeOptions struct {
	cfg     *config.Config
	dir     jobdir.Dir
	id      jobdir.Identity
	schema  string // of what is trained on
	now     func() time.Time
	travel  travel
	trained int // train steps
	opened  func(func() error)
}

// openBetween opens what the explorer puts into and the trainer takes from, where the job continues at pos.
func openBetween(ctx context.Context, o exchangeOptions, pos buffer.Position) (between, error) {
	eb := o.cfg.Buffer.TrainerInput.ExperienceBuffer
	aside := jobdir.Aside(o.cfg)
	switch m := o.cfg.Mode; {
	case m == config.Bench:
		return between{}, nil
	case aside && eb != nil && eb.StorageType == "file":
		return o.openFile(eb)
	// sft and dpo read a table as they read a file
	case eb != nil && eb.StorageType == "sql" && o.schema == "experience":
		return o.openTable(ctx, eb, pos)
	case aside:
		return between{}, fmt.Errorf("run: mode %s hands its experiences to another process; "+
			"set buffer.trainer_input.experience_buffer.storage_type: sql (or file, to keep them as JSON lines)", m)
	case !m.Explores() && !m.Serves():
		return between{}, nil
	case eb.StorageType != "queue":
		return between{}, fmt.Errorf("run: experience_buffer.storage_type %s is not for mode %s; use queue "+
			"or sql", eb.StorageType, m)
	}
	kept, err := o.openCopyOf(ctx, eb)
	if err != nil {
		return between{}, err
	}
	q := buffer.NewQueue(eb.Capacity, plan.Seconds(eb.MaxReadTimeout))
	return between{exchange: buffer.NewHandover(q, o.travel.sync, kept, pos)}, nil
}

func (o exchangeOptions) openFile(eb *config.ExperienceBuffer) (between, error) {
	f, err := buffer.OpenFile(o.dir.FS, eb.Path, o.state("written"))
	if err != nil {
		return between{}, err
	}
	o.opened(f.Close)
	return between{exchange: f}, nil
}

// state is the file that notes what a file of experiences has.
func (o exchangeOptions) state(what string) string {
	return o.dir.File("buffer", o.cfg.Explorer.Name+"_"+what+".json")
}

func (o exchangeOptions) openTable(ctx context.Context, eb *config.ExperienceBuffer,
	pos buffer.Position) (between, error) {
	var x between
	first, err := plan.Priority(eb, o.id.Seed)
	if err != nil {
		return x, err
	}
	epochs := 0
	if o.cfg.Buffer.TotalSteps == nil {
		epochs = o.cfg.Buffer.TotalEpochs
	}
	t := buffer.TableOptions{
		SQLOptions: buffer.SQLOptions{Timeout: plan.Seconds(eb.MaxReadTimeout), First: first, Now: o.now,
			Retries: eb.MaxRetryTimes, Pause: plan.Seconds(eb.MaxRetryInterval), FS: o.dir.FS,
			Steps: plan.Value(o.cfg.Buffer.TotalSteps), Epochs: epochs},
		URL: eb.Path, Name: eb.Name, Writer: o.cfg.Explorer.Name, Trainer: o.travel.sync,
		Puts: o.cfg.Mode.Explores() || o.cfg.Mode.Serves(), Reads: pos.Count,
	}
	if o.cfg.Mode == config.Train {
		x.report = synchronizer.NewReport(o.travel.folder, o.trained)
		t.Listener = x.report
	}
	if x.table, err = buffer.OpenTable(ctx, t); err != nil {
		return x, err
	}
	o.opened(x.table.Close)
	x.exchange = x.table
	return x, nil
}

// openCopyOf is what upstream keeps of a queue: all that was put, in the file or the table that the buffer's path
// names. Without a path there is none; what is trained on is in rollouts/.
func (o exchangeOptions) openCopyOf(ctx context.Context, eb *config.ExperienceBuffer) (buffer.Copy, error) {
	const key = "buffer.trainer_input.experience_buffer.path"
	if !o.cfg.Given(key) || eb.Path == "" {
		return nil, nil
	}
	return o.openCopy(ctx, key, eb.Path, eb.Name, "copy")
}

// openRaw is where experiences are kept as they were sampled, before the pipeline drops or changes any:
// experience_pipeline.input_save_path. nil: nowhere.
func (o exchangeOptions) openRaw(ctx context.Context) (buffer.Copy, error) {
	p := o.cfg.DataProcessor.ExperiencePipeline
	if !p.SaveInput || p.InputSavePath == "" || o.cfg.Mode == config.Bench {
		return nil, nil
	}
	return o.openCopy(ctx, "data_processor.experience_pipeline.input_save_path", p.InputSavePath, "pipeline_input",
		"raw")
}

func (o exchangeOptions) openCopy(ctx context.Context, key, path, table, state string) (buffer.Copy, error) {
	c, err := buffer.OpenCopy(ctx, buffer.CopyOptions{FS: o.dir.FS, Key: key, Path: path, Table: table,
		State: o.state(state), Suffix: o.dir.Suffix(), Writer: o.id.Session + o.dir.Suffix()})
	if err != nil {
		return nil, err
	}
	o.opened(c.Close)
	return c, nil
}

// storePath is where groups are kept until they are trained.
func storePath(d jobdir.Dir) string { return d.File("buffer", "explored"+d.Suffix()) }
