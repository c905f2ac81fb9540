package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// noteBuiltIn says once that a workflow speaks to the model in this project's words.
func (b *job) noteBuiltIn(name string, w workflow.Workflow, system string, r *workflow.Rollout) {
	switch own := workflow.BuiltInPrompt(w, system, r); {
	case own.Text == "":
	case own.Replaceable:
		b.noteOnce("%s uses its built-in system prompt, which is not worded as Trinity-RFT's: a model trained with "+
			"that "+
			"answers differently. Set format.system_prompt of the taskset to use another; "+
			"trinity debug -m prompt shows the prompt", name)
	default:
		b.noteOnce("%s tells the model its rules in words that are not Trinity-RFT's: a model trained with those "+
			"answers "+
			"differently. trinity debug -m prompt shows the prompt", name)
	}
}

// DebugPrompt shows the first prompt of a configuration as the model reads it, and where its template and its system
// prompt come from. Nothing is sampled and nothing is written.
func DebugPrompt(ctx context.Context, cfg *config.Config, o Options) error {
	o = o.withDefaults()
	in, err := Inspect(ctx, cfg, o)
	if err != nil {
		return err
	}
	for _, part := range in.Parts() {
		if part.Stage != "" {
			fmt.Fprintf(o.Out, "stage    %s\n", part.Stage)
		}
		if err = part.showPrompt(ctx, o); err != nil {
			break
		}
	}
	return errors.Join(err, in.Close())
}

func (in *Inspection) showPrompt(ctx context.Context, o Options) error {
	switch {
	case len(in.Unknown) > 0:
		return errors.New(in.Unknown[0])
	case in.examples != nil:
		return in.showExample(o)
	case in.train.Tasks == nil:
		return fmt.Errorf("run: mode %s has no taskset to take a task from; set mode: both", in.job.cfg.Mode)
	}
	tasks, err := in.train.Tasks.Batch(1, in.job.cfg.Buffer.BatchSize)
	if err != nil {
		return err
	}
	t := tasks[0]
	ids, err := in.prompt(ctx, t)
	if err != nil {
		return err
	}
	set := &in.tasks.sets[t.Taskset]
	fmt.Fprintf(o.Out, "task     row %d of %s\ntemplate %s\nsystem   %s\n",
		t.Index, set.config.Path, in.templateSource(), in.systemSource(t))
	in.showTokens(o, "prompt", ids)
	return nil
}

// showExample shows the first row of sft or dpo.
func (in *Inspection) showExample(o Options) error {
	row, err := in.examples.Row(dataset.Item{})
	if err != nil {
		return err
	}
	const key = "buffer.trainer_input.experience_buffer"
	format := in.job.cfg.Buffer.TrainerInput.ExperienceBuffer.Format
	system := "that of the row, if it has one"
	if format.SystemPrompt != "" {
		system = fmt.Sprintf("%s.format.system_prompt (%s)", key, in.job.cfg.Origin(key+".format.system_prompt"))
	}
	template := in.templateSource()
	if in.job.cfg.Given(key+".format.chat_template") && format.ChatTemplate != "" {
		template = fmt.Sprintf("%s.format.chat_template (%s)", key, in.job.cfg.Origin(key+".format.chat_template"))
	}
	path := in.job.cfg.Buffer.TrainerInput.ExperienceBuffer.Path
	fmt.Fprintf(o.Out, "task     row 0 of %s\ntemplate %s\nsystem   %s\n", path, template, system)
	for _, e := range row {
		in.showTokens(o, "prompt", e.Tokens[:e.PromptLength])
		in.showTokens(o, "answer", e.Response())
	}
	return nil
}

func (in *Inspection) showTokens(o Options, what string, ids []int32) {
	text := in.job.model.tokenizer.Decode(ids, false)
	fmt.Fprintf(o.Out, "\n%-8s %d tokens\n  ids %d\n%s\n", what, len(ids), ids, indented(text))
}

// templateSource says which chat template is used.
func (in *Inspection) templateSource() string {
	cfg := in.job.cfg
	switch {
	case cfg.Model.ChatTemplatePath != "":
		return fmt.Sprintf("%s, model.chat_template_path (%s)", cfg.Model.ChatTemplatePath,
			cfg.Origin("model.chat_template_path"))
	case cfg.Explorer.RolloutModel.ChatTemplate != "":
		key := templateKey(cfg)
		return fmt.Sprintf("%s (%s)", key, cfg.Origin(key))
	}
	return "the model's own, in " + in.job.model.dir
}

// systemSource says which system prompt a task has.
func (in *Inspection) systemSource(t workflow.Task) string {
	b, set := in.job, &in.tasks.sets[t.Taskset]
	w, r := in.train.Way(t)
	own := workflow.BuiltInPrompt(w, set.config.Format.SystemPrompt, &r)
	key := set.key + ".format.system_prompt"
	switch {
	case own.Text != "" && own.Replaceable:
		return "built into the workflow, in words that are not Trinity-RFT's; " + key + " replaces it"
	case own.Text != "":
		return "rules built into the workflow, in words that are not Trinity-RFT's"
	case set.config.Format.SystemPrompt != "":
		return fmt.Sprintf("%s (%s)", key, b.cfg.Origin(key))
	}
	return "none from the configuration; set " + key + " for one"
}
