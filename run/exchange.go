package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// openExchange opens what the explorer puts into and the trainer takes from, where the job continues.
func (l *loops) openExchange(ctx context.Context) error {
	eb := l.Config.Buffer.TrainerInput.ExperienceBuffer
	switch m := l.Config.Mode; {
	case m == config.Bench:
		return nil
	case l.Beside() && eb != nil && eb.StorageType == "file":
		return l.openFile(eb)
	// sft and dpo read a table as they read a file
	case eb != nil && eb.StorageType == "sql" && l.Method.Schema == "experience":
		return l.openTable(ctx, eb)
	case l.Beside():
		return fmt.Errorf("run: mode %s hands its experiences to another process; "+
			"set buffer.trainer_input.experience_buffer.storage_type: sql (or file, to keep them as JSON lines)", m)
	case !m.Explores() && !m.Serves():
		return nil
	case eb.StorageType != "queue":
		return fmt.Errorf("run: experience_buffer.storage_type %s is not for mode %s; use queue or sql",
			eb.StorageType, m)
	}
	kept, err := l.openCopyOf(ctx, eb)
	if err != nil {
		return err
	}
	q := buffer.NewQueue(eb.Capacity, plan.Seconds(eb.MaxReadTimeout))
	l.exchange = buffer.NewHandover(q, l.sync, kept, l.resumed.Position)
	return nil
}

func (l *loops) openFile(eb *config.ExperienceBuffer) error {
	f, err := buffer.OpenFile(l.FS, eb.Path, l.fileState("written"))
	if err != nil {
		return err
	}
	l.Opened(f.Close)
	l.exchange = f
	return nil
}

// fileState is the file that notes what a file of experiences has.
func (l *loops) fileState(what string) string {
	return l.Dir.File("buffer", l.Config.Explorer.Name+"_"+what+".json")
}

func (l *loops) openTable(ctx context.Context, eb *config.ExperienceBuffer) error {
	first, err := plan.Priority(eb, l.ID.Seed)
	if err != nil {
		return err
	}
	c := l.Config
	epochs := 0
	if c.Buffer.TotalSteps == nil {
		epochs = c.Buffer.TotalEpochs
	}
	o := buffer.TableOptions{
		SQLOptions: buffer.SQLOptions{Timeout: plan.Seconds(eb.MaxReadTimeout), First: first, Now: l.Now,
			Earliest: c.Synchronizer.SyncStyle == config.FullyAsync,
			Retries:  eb.MaxRetryTimes, Pause: plan.Seconds(eb.MaxRetryInterval), FS: l.FS,
			Steps: plan.Value(c.Buffer.TotalSteps), Epochs: epochs},
		URL: eb.Path, Name: eb.Name, Writer: c.Explorer.Name, Trainer: l.sync,
		Puts: c.Mode.Explores() || c.Mode.Serves(), Reads: l.resumed.Position.Count,
	}
	if c.Mode == config.Train {
		l.report = synchronizer.NewReport(l.shared, l.resumed.Step)
		o.Listener = l.report
	}
	if l.table, err = buffer.OpenTable(ctx, o); err != nil {
		return err
	}
	l.Opened(l.table.Close)
	l.exchange = l.table
	return nil
}

// openCopyOf opens what upstream keeps of a queue: all that was put, in the file or the table that the buffer's path
// names. Without a path there is none; what is trained on is in rollouts/.
func (l *loops) openCopyOf(ctx context.Context, eb *config.ExperienceBuffer) (buffer.Copy, error) {
	const key = "buffer.trainer_input.experience_buffer.path"
	if !l.Config.Given(key) || eb.Path == "" {
		return nil, nil
	}
	return l.openCopy(ctx, key, eb.Path, eb.Name, "copy")
}

// openRaw opens where experiences are kept as they were sampled, before the pipeline drops or changes any:
// experience_pipeline.input_save_path. nil: nowhere.
func (l *loops) openRaw(ctx context.Context) (buffer.Copy, error) {
	p := l.Config.DataProcessor.ExperiencePipeline
	if !p.SaveInput || p.InputSavePath == "" || l.Config.Mode == config.Bench {
		return nil, nil
	}
	return l.openCopy(ctx, "data_processor.experience_pipeline.input_save_path", p.InputSavePath, "pipeline_input",
		"raw")
}

func (l *loops) openCopy(ctx context.Context, key, path, table, state string) (buffer.Copy, error) {
	c, err := buffer.OpenCopy(ctx, buffer.CopyOptions{FS: l.FS, Key: key, Path: path, Table: table,
		State: l.fileState(state), Suffix: l.Dir.Suffix(), Writer: l.ID.Session + l.Dir.Suffix()})
	if err != nil {
		return nil, err
	}
	l.Opened(c.Close)
	return c, nil
}
