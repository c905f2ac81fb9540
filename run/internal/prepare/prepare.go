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
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
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
	job    *job.Job
	folder string // where the output goes, as the configuration has it
}

// Of is the pipeline of a job, whose method may not be known.
func Of(j *job.Job) Pipeline {
	cfg, schema := j.Config, ""
	if j.Method != nil {
		schema = j.Method.Schema
	}
	p := Pipeline{job: j, folder: folder(cfg, schema)}
	c, tasks := cfg.DataProcessor.TaskPipeline, cfg.Mode != config.Bench && !cfg.Mode.Serves()
	if cfg.Mode == config.Train && schema == "experience" {
		tasks = false // the explorer's process reads them
	}
	if c != nil && (len(c.Operators) > 0 || c.ConfigPath != "") && tasks {
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
		return job.AtKey(Key+".config_path", fmt.Errorf("names a recipe of Data-Juicer, which is not read; write its "+
			"operators into %s.operators, or run Data-Juicer beforehand and name its output in the taskset", Key))
	}
	if len(p.Conf.Inputs) == 0 {
		return job.AtKey(Key+".inputs", errors.New("is empty; name the files of the tasks"))
	}
	return nil
}

// Folder is where the output goes.
func (p Pipeline) Folder() (string, error) {
	if p.folder == "" {
		return "", errors.New("run: data_processor.task_pipeline.output.path is missing; name the folder that the " +
			"tasks are written to")
	}
	return filepath.Clean(p.job.Find(p.folder)), nil
}

// Before returns the tasksets to read in place of the i-th one before its pipeline has run: the pipeline's inputs.
func Before(j *job.Job, i int, t config.Taskset) []config.Taskset {
	p := j.Config.DataProcessor.TaskPipeline
	if _, err := os.Stat(j.Find(t.Path)); p == nil || p.Output != nil || i > 0 || err == nil {
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
