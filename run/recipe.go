package run

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
)

// recipeOutput is the file of the output's folder, as upstream names it, and recipeNote what it was made by.
const (
	recipeOutput = "output.jsonl"
	recipeNote   = "recipe.sha256"
)

// prepareTasks runs data_processor.task_pipeline into the folder that its output, or else the taskset, names; a start
// after that finds it there. The folder appears whole. One that was made otherwise is left alone and refused.
func (b *job) prepareTasks(ctx context.Context) error {
	p := b.recipe()
	if p == nil {
		return nil
	}
	const key = "data_processor.task_pipeline"
	if err := checkRecipe(p); err != nil {
		return err
	}
	out, err := b.recipeFolder(p)
	if err != nil {
		return err
	}
	made, err := recipeMark(p)
	if err != nil {
		return err
	}
	if done, err := recipeDone(out, made); done || err != nil {
		return err
	}
	list, err := b.cookTasks(ctx, p, key)
	if err != nil {
		return err
	}
	return b.serveTasks(out, made, list)
}

// recipeDone reports whether a folder has what the pipeline of that mark makes. Any other folder is refused.
func recipeDone(out, made string) (bool, error) {
	const key = "data_processor.task_pipeline"
	switch note, err := os.ReadFile(filepath.Join(out, recipeNote)); {
	case err == nil && string(note) == made:
		return true, nil
	case err == nil:
		return false, fmt.Errorf("run: %s has the output of another %s; remove the folder, or name another", out, key)
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("run: %w", err)
	}
	if _, err := os.Stat(out); err == nil {
		return false, fmt.Errorf("run: the output of %s would go to %s, which is there already; name another folder",
			key, out)
	}
	return false, nil
}

// recipe is the task pipeline that the run goes through first, nil if there is none.
func (b *job) recipe() *config.TaskPipeline {
	p := b.cfg.DataProcessor.TaskPipeline
	if p == nil || len(p.Operators) == 0 && p.ConfigPath == "" || b.cfg.Mode == config.Bench || b.cfg.Mode.Serves() {
		return nil
	}
	return p
}

// checkRecipe refuses a pipeline that says nothing that can be done.
func checkRecipe(p *config.TaskPipeline) error {
	const key = "data_processor.task_pipeline"
	if p.ConfigPath != "" {
		return at(key+".config_path", fmt.Errorf("names a recipe of Data-Juicer, which is not read; write its "+
			"operators into "+
			"%s.operators, or run Data-Juicer beforehand and name its output in the taskset", key))
	}
	if len(p.Inputs) == 0 {
		return at(key+".inputs", errors.New("is empty; name the files of the tasks"))
	}
	return nil
}

// recipeFolder is where the output goes: the folder that the output names, or the first taskset, or with sft and dpo
// the experience buffer.
func (b *job) recipeFolder(p *config.TaskPipeline) (string, error) {
	path := ""
	switch in := b.cfg.Buffer.ExplorerInput.Training(); {
	case p.Output != nil:
		path = p.Output.Path
	case b.cfg.Mode != config.Train && len(in) > 0:
		path = in[0].Path
	case b.cfg.Mode == config.Train && b.method.Schema != "experience":
		path = b.cfg.Buffer.TrainerInput.ExperienceBuffer.Path
	}
	if path == "" {
		return "", errors.New("run: data_processor.task_pipeline.output.path is missing; name the folder that the " +
			"tasks are written to")
	}
	return filepath.Clean(b.Find(path)), nil
}

// unprepared is what stands for a taskset, the i-th, before its pipeline has run: the pipeline's inputs.
func (b *job) unprepared(i int, t config.Taskset) []config.Taskset {
	p := b.cfg.DataProcessor.TaskPipeline
	if _, err := os.Stat(b.Find(t.Path)); p == nil || p.Output != nil || i > 0 || err == nil {
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

// recipeMark tells one pipeline from another.
func recipeMark(p *config.TaskPipeline) (string, error) {
	text, err := json.Marshal([]any{p.Operators, p.Inputs, p.TargetFields, p.PriorityWeights, p.TopK})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return `{"task_pipeline": "` + hex.EncodeToString(sum[:]) + "\"}\n", nil
}

// cookTasks reads the inputs and gives what the operators make of them.
func (b *job) cookTasks(ctx context.Context, p *config.TaskPipeline, key string) ([]*taskprep.Sample, error) {
	var operators []taskprep.Operator
	for i, o := range p.Operators {
		op, err := taskprep.New(o.Name, o.Args, b.recipeNeeds(p))
		if err != nil {
			return nil, fmt.Errorf("%s.operators[%d]: %w", key, i, err)
		}
		operators = append(operators, op)
	}
	weights := map[string]float64{}
	for name, v := range p.PriorityWeights {
		w, ok := arg.Float(v)
		if !ok {
			return nil, fmt.Errorf("run: %s.priority_weights.%s is %v; it must be a number", key, name, v)
		}
		weights[name] = w
	}
	list, err := b.readTasks(ctx, p)
	if err != nil {
		return nil, err
	}
	read := len(list)
	if list, err = taskprep.Run(ctx, operators, list); err != nil {
		return nil, err
	}
	list = taskprep.Sort(list, weights, p.TopK)
	if len(list) == 0 {
		return nil, fmt.Errorf("run: %s leaves none of %d rows; loosen its operators", key, read)
	}
	fmt.Fprintf(b.Out, "tasks    %d of %d rows, prepared by %d operators\n", len(list), read, len(operators))
	return list, nil
}

// recipeNeeds is what the operators work with.
func (b *job) recipeNeeds(p *config.TaskPipeline) taskprep.Surroundings {
	s := taskprep.Surroundings{TextKey: "text", Workers: p.NumProcess}
	s.Ask = func(model string) (func(context.Context, string, string) (string, error), error) {
		judge, err := b.reachJudge(model, "OPENAI_BASE_URL", "OPENAI_API_KEY")
		return func(ctx context.Context, system, user string) (string, error) {
			list := []chat.Message{{Role: "system", Content: system}, {Role: "user", Content: user}}
			return judge.Ask(ctx, list, 0, 0)
		}, err
	}
	if len(p.TargetFields) > 0 {
		s.TextKey = p.TargetFields[0]
	}
	return s
}

// readTasks reads the rows of all inputs, but for those in which a target field is null.
func (b *job) readTasks(ctx context.Context, p *config.TaskPipeline) ([]*taskprep.Sample, error) {
	var list []*taskprep.Sample
	for _, path := range p.Inputs {
		rows, err := b.openRows(ctx, path, "", "train")
		if err != nil {
			return nil, fmt.Errorf("data_processor.task_pipeline.inputs: %w", err)
		}
		list, err = addSamples(list, rows, p.TargetFields)
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

// serveTasks writes the output folder beside its place and moves it there.
func (b *job) serveTasks(out, made string, list []*taskprep.Sample) error {
	tmp := out + "~recipe"
	err := errors.Join(b.fs.RemoveAll(tmp), b.fs.MkdirAll(tmp))
	if err == nil {
		err = disk.Replace(b.fs, filepath.Join(tmp, recipeOutput), func(w io.Writer) error {
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
		err = disk.WriteFile(b.fs, filepath.Join(tmp, recipeNote), []byte(made))
	}
	if err == nil {
		err = b.fs.Rename(tmp, out)
	}
	if err == nil {
		err = b.fs.SyncDir(filepath.Dir(out))
	}
	if err != nil {
		return fmt.Errorf("run: prepared tasks: %w", err)
	}
	return nil
}
