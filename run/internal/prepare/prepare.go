// Package prepare runs data_processor.task_pipeline: it reads the inputs, and writes what the operators make of them to
// the folder that a taskset reads.
package prepare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/taskprep"
	"github.com/seed-d9ad8ee0/trinity/run/internal/openai"
	"github.com/seed-d9ad8ee0/trinity/run/internal/place"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// Key is the place of the pipeline in the configuration.
const Key = "data_processor.task_pipeline"

// outputFile is the file of the output's folder, as upstream names it, and madeBy holds the mark of the pipeline that
// made it.
const (
	outputFile = "output.jsonl"
	madeBy     = "recipe.sha256"
)

// Pipeline is the task pipeline of a run. The zero value does nothing.
type Pipeline struct {
	Conf   *config.TaskPipeline // nil: there is none
	site   site.Site
	folder string // where the output goes, as the configuration has it
}

// Of is the pipeline of a configuration. schema is that of what the run trains on, "" if that is not known.
func Of(cfg *config.Config, schema string, s site.Site) Pipeline {
	p := Pipeline{site: s, folder: folder(cfg, schema)}
	c := cfg.DataProcessor.TaskPipeline
	if c != nil && (len(c.Operators) > 0 || c.ConfigPath != "") && cfg.Mode != config.Bench && !cfg.Mode.Serves() {
		p.Conf = c
	}
	return p
}

// folder is where the output goes: the folder that the output names, or the first taskset, or with sft and dpo the
// experience buffer.
func folder(cfg *config.Config, schema string) string {
	c := cfg.DataProcessor.TaskPipeline
	switch in := cfg.Buffer.ExplorerInput.Training(); {
	case c != nil && c.Output != nil:
		return c.Output.Path
	case cfg.Mode != config.Train && len(in) > 0:
		return in[0].Path
	case cfg.Mode == config.Train && schema != "experience" && cfg.Buffer.TrainerInput.ExperienceBuffer != nil:
		return cfg.Buffer.TrainerInput.ExperienceBuffer.Path
	}
	return ""
}

// Run runs the pipeline into its folder; a start after that finds it there. The folder appears whole. One that was made
// otherwise is left alone and refused.
func (p Pipeline) Run(ctx context.Context) error {
	if p.Conf == nil {
		return nil
	}
	if err := p.Check(); err != nil {
		return err
	}
	out, err := p.Folder()
	if err != nil {
		return err
	}
	done, err := p.Done()
	if done || err != nil {
		return err
	}
	list, err := p.process(ctx)
	if err != nil {
		return err
	}
	return p.write(out, list)
}

// Done reports whether the folder has what the pipeline makes. Any other folder is refused.
func (p Pipeline) Done() (bool, error) {
	out, err := p.Folder()
	if err != nil {
		return false, err
	}
	mark, err := p.mark()
	if err != nil {
		return false, err
	}
	switch note, err := os.ReadFile(filepath.Join(out, madeBy)); {
	case err == nil && string(note) == mark:
		return true, nil
	case err == nil:
		return false, fmt.Errorf("run: %s has the output of another %s; remove the folder, or name another", out, Key)
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("run: %w", err)
	}
	if _, err := os.Stat(out); err == nil {
		return false, fmt.Errorf("run: the output of %s would go to %s, which is there already; name another folder",
			Key, out)
	}
	return false, nil
}

// Check refuses a pipeline that says nothing that can be done.
func (p Pipeline) Check() error {
	if p.Conf.ConfigPath != "" {
		return place.At(Key+".config_path", fmt.Errorf("names a recipe of Data-Juicer, which is not read; write its "+
			"operators into %s.operators, or run Data-Juicer beforehand and name its output in the taskset", Key))
	}
	if len(p.Conf.Inputs) == 0 {
		return place.At(Key+".inputs", errors.New("is empty; name the files of the tasks"))
	}
	return nil
}

// Folder is where the output goes.
func (p Pipeline) Folder() (string, error) {
	if p.folder == "" {
		return "", errors.New("run: data_processor.task_pipeline.output.path is missing; name the folder that the " +
			"tasks are written to")
	}
	return filepath.Clean(p.site.Find(p.folder)), nil
}

// Before is what stands for a taskset, the i-th, before its pipeline has run: the pipeline's inputs.
func Before(cfg *config.Config, s site.Site, i int, t config.Taskset) []config.Taskset {
	p := cfg.DataProcessor.TaskPipeline
	if _, err := os.Stat(s.Find(t.Path)); p == nil || p.Output != nil || i > 0 || err == nil {
		return []config.Taskset{t}
	}
	var list []config.Taskset
	for _, path := range p.Inputs {
		in := t
		in.Path, in.SubsetName, in.Split = path, "", "train"
		list = append(list, in)
	}
	return list
}

// mark tells one pipeline from another.
func (p Pipeline) mark() (string, error) {
	c := p.Conf
	text, err := json.Marshal([]any{c.Operators, c.Inputs, c.TargetFields, c.PriorityWeights, c.TopK})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return `{"task_pipeline": "` + hex.EncodeToString(sum[:]) + "\"}\n", nil
}

// process reads the inputs and returns what the operators make of them.
func (p Pipeline) process(ctx context.Context) ([]*taskprep.Sample, error) {
	var operators []taskprep.Operator
	for i, o := range p.Conf.Operators {
		op, err := taskprep.New(o.Name, o.Args, p.Surroundings())
		if err != nil {
			return nil, fmt.Errorf("%s.operators[%d]: %w", Key, i, err)
		}
		operators = append(operators, op)
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
	if list, err = taskprep.Run(ctx, operators, list); err != nil {
		return nil, err
	}
	list = taskprep.Sort(list, weights, p.Conf.TopK)
	if len(list) == 0 {
		return nil, fmt.Errorf("run: %s leaves none of %d rows; loosen its operators", Key, read)
	}
	fmt.Fprintf(p.site.Out, "tasks    %d of %d rows, prepared by %d operators\n", len(list), read, len(operators))
	return list, nil
}

// Surroundings is what the operators work with.
func (p Pipeline) Surroundings() taskprep.Surroundings {
	s := taskprep.Surroundings{TextKey: "text", Workers: p.Conf.NumProcess}
	s.Ask = func(model string) (func(context.Context, string, string) (string, error), error) {
		judge, err := openai.Reach(p.site.LookupEnv, model, "OPENAI_BASE_URL", "OPENAI_API_KEY")
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
		rows, err := p.site.Rows(ctx, path, "", "train")
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

// write writes the output folder beside its place and moves it there.
func (p Pipeline) write(out string, list []*taskprep.Sample) error {
	mark, err := p.mark()
	if err != nil {
		return err
	}
	tmp, dfs := out+"~recipe", p.site.FS
	err = errors.Join(dfs.RemoveAll(tmp), dfs.MkdirAll(tmp))
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
		err = dfs.Rename(tmp, out)
	}
	if err == nil {
		err = dfs.SyncDir(filepath.Dir(out))
	}
	if err != nil {
		return fmt.Errorf("run: prepared tasks: %w", err)
	}
	return nil
}
