package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/run/speaker"
)

type convertCmd struct {
	Checkpoint string `name:"checkpoint-dir" short:"c" required:"" help:"A job, step, checkpoint or adapter folder."`
	Base       string `name:"base-model-dir" short:"b" help:"The adapter's base model, if it has moved."`
	Step       string `short:"s" placeholder:"N,N" help:"Only these steps of a job, such as 100,200; reports each."`
	Output     string `short:"o" help:"The folder or GGUF file to create; default: in global_step_<n>/actor."`
	GGUF       string `name:"gguf" placeholder:"TYPE" help:"Write a GGUF file: f16, bf16, f32, q8_0, q4_k_m, or lora."`
	Push       string `placeholder:"OWNER/NAME" help:"Upload it to this model on the hub; a new one is private."`
	Overwrite  bool   `help:"With --push: replace files that the model on the hub has."`
}

// Help implements kong.HelpProvider.
func (*convertCmd) Help() string {
	return "Without --gguf, a merged Hugging Face folder is written: of every step below a job, or of the last " +
		"one with --output.\n\n" +
		"With --gguf, one file for llama.cpp and Ollama is written, of the last step: MODEL-TYPE.gguf, and beside " +
		"a merged model a Modelfile. f16 and bf16 have two bytes a weight, f32 four, q8_0 one, q4_k_m about 0.6. " +
		"lora is the adapter alone, for llama.cpp's --lora with a GGUF file of the base model; newer releases of " +
		"Ollama are said to take merged models only.\n\n" +
		"With --push, the files and a model card go to the Hugging Face hub, with the token in HF_TOKEN."
}

const (
	stepPrefix = "global_step_"
	stepOutput = "actor/huggingface" // where upstream puts the model, in the step's folder
)

// Run implements the command. It writes full weights as a Hugging Face folder, or a GGUF file.
func (c *convertCmd) Run(s *surroundings) error {
	if err := errors.Join(c.checkGGUF(), c.checkPush(s)); err != nil {
		return err
	}
	steps, err := c.numbers()
	if err != nil {
		return err
	}
	signal.Reset(os.Interrupt, syscall.SIGTERM) // what is written has its name when it is whole
	given, err := filepath.Abs(c.Checkpoint)
	if err != nil {
		return err
	}
	if ofGGUF(given, c.Checkpoint) {
		return c.copyModel(s)
	}
	if st, err := os.Stat(given); err != nil || !st.IsDir() {
		return fmt.Errorf("--checkpoint-dir %s is not a folder", c.Checkpoint)
	}
	dir, err := filepath.EvalSymlinks(given) // a link's name does not say what it leads to
	if err != nil {
		return err
	}
	if steps != nil {
		return c.chosen(s, dir, steps)
	}
	if step := stepAbove(dir); step != "" {
		return c.step(s, step)
	}
	if isCheckpoint(dir) {
		if c.Output == "" {
			return usageError{fmt.Errorf("trinity: %s is an adapter or model folder; "+
				"name the folder to create with --output (with --gguf, the file)", c.Checkpoint)}
		}
		return c.convert(s, dir, given, c.Output)
	}
	if step := stepAbove(given); step != "" { // a link to a folder of another name
		return c.step(s, step)
	}
	return c.job(s, dir)
}

// stepAbove is the global_step_<n> that dir is or is in, "" if there is none.
func stepAbove(dir string) string {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if strings.HasPrefix(filepath.Base(dir), stepPrefix) {
			return dir
		}
	}
	return ""
}

// isCheckpoint reports whether a folder contains an adapter or a model.
func isCheckpoint(dir string) bool {
	return has(dir, engine.AdapterConfigFile) || has(dir, "config.json")
}

func has(dir, file string) bool { return disk.Exists(filepath.Join(dir, file)) }

// job converts the steps below dir: all of them in place, or only the last one if there is an --output or --gguf.
func (c *convertCmd) job(s *surroundings, dir string) error {
	var steps []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), stepPrefix) {
			steps = append(steps, path)
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return fmt.Errorf("%s has no %s, no config.json and no %s<n> below it; "+
			"name a PEFT adapter, a checkpoint or a job directory", c.Checkpoint, engine.AdapterConfigFile, stepPrefix)
	}
	if jobs := speaker.JobsIn(dir); len(jobs) > 1 && (c.Output != "" || c.GGUF != "" || c.Push != "") {
		return fmt.Errorf("%s holds several jobs: %s; name one of them", c.Checkpoint, speaker.JobList(jobs))
	}
	slices.SortStableFunc(steps, func(a, b string) int { return stepNumber(a) - stepNumber(b) })
	if c.Output != "" || c.GGUF != "" || c.Push != "" {
		steps = steps[len(steps)-1:]
	}
	for _, step := range steps {
		if err := c.step(s, step); err != nil {
			return err
		}
	}
	return nil
}

func stepNumber(dir string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), stepPrefix))
	if err != nil {
		return -1
	}
	return n
}

// step converts what a global_step_<n> names.
func (c *convertCmd) step(s *surroundings, step string) error {
	out := c.Output
	switch {
	case out != "":
	case c.GGUF != "":
		out = filepath.Join(step, ggufOutput)
	default:
		if out = filepath.Join(step, stepOutput); has(out, "config.json") {
			fmt.Fprintln(s.out, out, "already exists")
			return c.push(s, step, out)
		}
	}
	dir, err := checkpointOf(step)
	if err == nil {
		return c.convert(s, dir, dir, out)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if adapter := filepath.Join(step, "actor", "lora_adapter"); has(adapter, engine.AdapterConfigFile) {
		return c.convert(s, adapter, adapter, out)
	}
	return fmt.Errorf("%s has neither remote_checkpoint_path.txt nor remote_sampler_path.txt nor actor/lora_adapter: "+
		"nothing was saved at this step; choose another one", step)
}

// checkpointOf is the engine's folder of what a global_step_<n> names; fs.ErrNotExist if it names nothing.
func checkpointOf(step string) (string, error) {
	for _, note := range []string{"remote_checkpoint_path.txt", "remote_sampler_path.txt"} {
		path, err := os.ReadFile(filepath.Join(step, note))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		checkpoints := filepath.Join(filepath.Dir(step), "tinker", "checkpoints")
		dir, err := engine.CheckpointFolder(checkpoints, strings.TrimSpace(string(path)))
		if err != nil {
			return "", fmt.Errorf("%s: %v", filepath.Join(step, note), err)
		}
		return dir, nil
	}
	return "", fs.ErrNotExist
}

// convert writes full weights to out, from a folder with an adapter or a model, and pushes them. name is the user's
// name for the folder.
func (c *convertCmd) convert(s *surroundings, dir, name, out string) error {
	if c.GGUF != "" {
		return c.gguf(s, dir, name, out)
	}
	if err := c.merge(s, dir, name, out); err != nil {
		return err
	}
	return c.push(s, dir, out)
}

// merge writes a model folder.
func (c *convertCmd) merge(s *surroundings, dir, name, out string) error {
	if !has(dir, engine.AdapterConfigFile) {
		template, err := ownTemplate(dir, dir)
		if err != nil {
			return err
		}
		if err := engine.CopyModel(dir, out, template); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "copied the full weights of %s to %s\n", name, out)
		return nil
	}
	a, base, err := c.adapter(s, dir)
	if err != nil {
		return err
	}
	template, err := ownTemplate(dir, base)
	if err != nil {
		return err
	}
	warning, err := engine.Merge(base, a, out, template)
	if warning != nil {
		fmt.Fprintln(s.err, "warning:", foreign.Text(warning.Error()))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "merged the adapter of %s (rank %d, alpha %g, %s) into %s: %s\n",
		name, a.Rank, a.Alpha, strings.Join(a.Modules, " "), base, out)
	return nil
}

// ownTemplate is the chat template of the job that the folder dir is in; "" if the model in base has the same, or there
// is no such job.
func ownTemplate(dir, base string) (string, error) {
	text, _, err := run.JobTemplate(dir)
	if err != nil {
		return "", err
	}
	conf, err := tokenizer.LoadConfig(base)
	if err != nil || text == conf.ChatTemplate {
		return "", err
	}
	return text, nil
}

// adapter reads the adapter in a folder and finds its base model; a.Base is the name it was found by.
func (c *convertCmd) adapter(s *surroundings, dir string) (a engine.Adapter, base string, err error) {
	if a, err = engine.ReadAdapter(dir); err != nil {
		return a, "", err
	}
	if c.Base != "" {
		a.Base = c.Base
	}
	if a.Base == "" {
		return a, "", fmt.Errorf("%s does not name a base model; name it with --base-model-dir",
			filepath.Join(dir, engine.AdapterConfigFile))
	}
	notes, err := run.ReadJobNotes(dir)
	if err != nil {
		return a, "", err
	}
	if base, err = s.model(notes.Find(a.Base)); err != nil {
		err = fmt.Errorf("the adapter's base model was not found; name it with --base-model-dir: %w", err)
	}
	return a, base, err
}
