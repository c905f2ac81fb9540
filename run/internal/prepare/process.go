package prepare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/taskprep"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// process reads the inputs and returns what the operators make of them.
func (p Pipeline) process(ctx context.Context) ([]*taskprep.Sample, error) {
	var steps []taskprep.Step
	for i, o := range p.Conf.Operators {
		op, err := taskprep.New(o.Name, o.Args, p.Surroundings())
		if err != nil {
			return nil, fmt.Errorf("%s.operators[%d]: %w", Key, i, err)
		}
		steps = append(steps, op)
	}
	weights := map[string]float64{}
	for name, v := range p.Conf.PriorityWeights {
		w, ok := arg.Float(v)
		if !ok {
			return nil, fmt.Errorf("run: %s.priority_weights.%s is %v; it must be a number", Key, name, v)
		}
		weights[name] = w
	}
	list, err := p.readTasks(ctx)
	if err != nil {
		return nil, err
	}
	read := len(list)
	if list, err = taskprep.Run(ctx, steps, list); err != nil {
		return nil, err
	}
	list = taskprep.Sort(list, weights, p.Conf.TopK)
	if len(list) == 0 {
		return nil, fmt.Errorf("run: %s leaves none of %d rows; loosen its operators", Key, read)
	}
	fmt.Fprintf(p.job.Out, "tasks    %d of %d rows, prepared by %d operators\n", len(list), read, len(steps))
	return list, nil
}

// Surroundings returns what the operators work with.
func (p Pipeline) Surroundings() taskprep.Surroundings {
	s := taskprep.Surroundings{TextKey: "text", Workers: p.Conf.NumProcess}
	s.Ask = func(model string) (func(context.Context, string, string) (string, error), error) {
		judge, err := job.ReachJudge(p.job.LookupEnv, model, "OPENAI_BASE_URL", "OPENAI_API_KEY")
		return func(ctx context.Context, system, user string) (string, error) {
			list := []chat.Message{{Role: "system", Content: system}, {Role: "user", Content: user}}
			return judge.Ask(ctx, list, 0, 0)
		}, err
	}
	if len(p.Conf.TargetFields) > 0 {
		s.TextKey = p.Conf.TargetFields[0]
	}
	return s
}

// readTasks reads the rows of all inputs, but for those in which a target field is null.
func (p Pipeline) readTasks(ctx context.Context) ([]*taskprep.Sample, error) {
	var list []*taskprep.Sample
	for _, path := range p.Conf.Inputs {
		rows, err := p.job.Rows(ctx, path, "", "train")
		if err != nil {
			return nil, fmt.Errorf("data_processor.task_pipeline.inputs: %w", err)
		}
		list, err = addSamples(list, rows, p.Conf.TargetFields)
		if err := errors.Join(err, rows.Close()); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func addSamples(list []*taskprep.Sample, rows *dataset.Source, fields []string) ([]*taskprep.Sample, error) {
	for i := range rows.Len() {
		row, err := rows.Row(i)
		if err != nil {
			return nil, err
		}
		whole := true
		for _, f := range fields {
			v, ok := row.Get(f)
			if !ok {
				return nil, fmt.Errorf("run: %s: no column %q; correct data_processor.task_pipeline.target_fields",
					rows.Place(i), f)
			}
			whole = whole && v != nil
		}
		if whole {
			list = append(list, &taskprep.Sample{Row: row, Stats: map[string]float64{}})
		}
	}
	return list, nil
}

// write writes the output folder beside its place and moves it there, unless another process was faster.
func (p Pipeline) write(out string, list []*taskprep.Sample) error {
	mark, err := p.mark()
	if err != nil {
		return err
	}
	tmp, dfs := fmt.Sprintf("%s~recipe-%d", out, os.Getpid()), p.job.FS
	err = errors.Join(dfs.RemoveAll(tmp), disk.MkdirAll(dfs, tmp))
	if err == nil {
		err = disk.Replace(dfs, filepath.Join(tmp, outputFile), func(w io.Writer) error {
			for _, s := range list {
				line, err := json.Marshal(s.Row)
				if err != nil {
					return err
				}
				if _, err := w.Write(append(line, '\n')); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		err = disk.WriteFile(dfs, filepath.Join(tmp, madeBy), []byte(mark))
	}
	if err == nil {
		if err = dfs.Rename(tmp, out); err != nil {
			if done, bad := p.Done(); done && bad == nil {
				return dfs.RemoveAll(tmp)
			}
		}
	}
	if err == nil {
		err = dfs.SyncDir(filepath.Dir(out))
	}
	if err != nil {
		return fmt.Errorf("run: prepared tasks: %w", err)
	}
	return nil
}
