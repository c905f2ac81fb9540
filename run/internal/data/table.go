package data

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// openTaskRows opens what a taskset names: a file, a folder of tasks, or the table of its name in a database; added is
// nil but for tables.
func openTaskRows(ctx context.Context, j *job.Job, t *config.Taskset) (rows *dataset.Source, added func() error,
	err error) {
	if read := j.Outside.Readers[t.StorageType]; read != nil {
		rows, err = read(ctx, Section(t))
		return rows, nil, err
	}
	if t.StorageType == "task_dir" {
		rows, err = dataset.OpenFolders(t.Path, t.Name)
		return rows, nil, err
	}
	if t.StorageType != "sql" && t.StorageType != "file" {
		return nil, nil, fmt.Errorf("storage_type is %s, which is neither file, sql or task_dir nor a reader of a "+
			"plug-in file%s", t.StorageType, j.Own.Failed)
	}
	if _, read := j.TasksAt(t.Path); read != nil && t.StorageType == "file" {
		rows, err = read(ctx, t.Path, t.WorkflowArgs)
		return rows, nil, err
	}
	if t.StorageType != "sql" {
		rows, err = j.Rows(ctx, t.Path, t.SubsetName, t.Split)
		return rows, nil, err
	}
	table, err := buffer.OpenRows(ctx, t.Path, t.Name, "task", t.MaxRetryTimes, plan.Seconds(t.MaxRetryInterval))
	if err != nil {
		return nil, nil, err
	}
	if table.Count() == 0 {
		return nil, nil, errors.Join(fmt.Errorf("table %s has no rows; fill it before the run begins", t.Name),
			table.Close())
	}
	return dataset.Of(table), func() error { return table.Refresh(ctx) }, nil
}

// openExampleRows opens what an experience buffer of sft or dpo names, likewise.
func openExampleRows(ctx context.Context, j *job.Job, eb *config.ExperienceBuffer, schema string) (*dataset.Source,
	error) {
	if eb.StorageType != "sql" {
		return j.Rows(ctx, eb.Path, eb.SubsetName, eb.Split)
	}
	table, err := buffer.OpenRows(ctx, eb.Path, eb.Name, schema, eb.MaxRetryTimes, plan.Seconds(eb.MaxRetryInterval))
	if err != nil {
		return nil, err
	}
	if table.Count() == 0 {
		return nil, errors.Join(fmt.Errorf("table %s has no rows; fill it before the run begins", eb.Name),
			table.Close())
	}
	return dataset.Of(table), nil
}

// taskTable deals the rows of a database table out in order, each once, as upstream does: total_steps batches or as
// many as there are whole ones. Rows that are added in time for their step count.
type taskTable struct {
	set   *taskRows
	steps int
}

func newTaskTable(set *taskRows, read dataset.Plan) (*taskTable, error) {
	rows, steps := set.rows.Len(), read.TotalSteps
	if rows < read.BatchSize {
		return nil, fmt.Errorf("%s: table %s has %d rows, less than one batch of %d; add rows, or lower "+
			"batch_size", set.key, set.name, rows, read.BatchSize)
	}
	if steps == 0 {
		steps = rows / read.BatchSize
	}
	return &taskTable{set, steps}, nil
}

// picks are the n rows of a step, or dataset.ErrEnd when there are fewer.
func (t *taskTable) picks(step, n int) ([]dataset.Pick, error) {
	if step > t.steps {
		return nil, dataset.ErrEnd
	}
	if step*n > t.set.rows.Len() {
		if err := t.set.added(); err != nil {
			return nil, err
		}
	}
	if step*n > t.set.rows.Len() {
		return nil, dataset.ErrEnd
	}
	picks := make([]dataset.Pick, n)
	for i := range picks {
		picks[i].Index = (step-1)*n + i
	}
	return picks, nil
}
