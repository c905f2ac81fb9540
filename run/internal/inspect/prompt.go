package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// ShowPrompt shows the first prompt of the configuration as the model reads it, and where its template and its system
// prompt come from.
func (in *Inspection) ShowPrompt(ctx context.Context, out io.Writer) error {
	switch {
	case len(in.unknown) > 0:
		return errors.New(in.unknown[0])
	case in.examples != nil:
		return in.showExample(out)
	case in.train.Tasks == nil:
		return fmt.Errorf("run: mode %s has no taskset to take a task from; set mode: both", in.Config.Mode)
	}
	tasks, err := in.train.Tasks.Batch(1, in.Config.Buffer.BatchSize)
	if err != nil {
		return err
	}
	t := tasks[0]
	w, _ := in.train.Way(t)
	if w == (workflow.Program{}) {
		return errors.New("run: with rollout_workflow the programs that carry its rollouts out make the prompts; " +
			"GET /sessions/ID/traces shows the prompts of an open rollout")
	}
	if workflow.Outside(w) {
		return errors.New("run: the programs that the run starts make the prompts; trinity debug -m workflow runs " +
			"one task and shows them")
	}
	if isForeign(w) {
		return errors.New("run: a workflow of a plug-in file makes its prompts as it runs; trinity debug -m workflow " +
			"runs one task and shows them")
	}
	ids, err := in.prompt(ctx, t)
	if err != nil {
		return err
	}
	set, _ := in.tasks.Set(t.Taskset)
	fmt.Fprintf(out, "task     row %d of %s\ntemplate %s\nsystem   %s\n",
		t.Index, set.Path, in.templateSource(), in.systemSource(t))
	in.showTokens(out, "prompt", ids)
	return nil
}

func isForeign(w workflow.Workflow) bool {
	_, foreign := w.(workflow.Foreign)
	return foreign
}

// showExample shows the first row of sft or dpo.
func (in *Inspection) showExample(out io.Writer) error {
	row, err := in.examples.Row(dataset.Item{})
	if err != nil {
		return err
	}
	const key = "buffer.trainer_input.experience_buffer"
	format := in.Config.Buffer.TrainerInput.ExperienceBuffer.Format
	system := "from the row, if it has one"
	if format.SystemPrompt != "" {
		system = fmt.Sprintf("%s.format.system_prompt (%s)", key, in.Config.Origin(key+".format.system_prompt"))
	}
	template := in.templateSource()
	if in.Config.Given(key+".format.chat_template") && format.ChatTemplate != "" {
		template = fmt.Sprintf("%s.format.chat_template (%s)", key, in.Config.Origin(key+".format.chat_template"))
	}
	path := in.Config.Buffer.TrainerInput.ExperienceBuffer.Path
	fmt.Fprintf(out, "task     row 0 of %s\ntemplate %s\nsystem   %s\n", path, template, system)
	for _, e := range row {
		in.showTokens(out, "prompt", e.Tokens[:e.PromptLength])
		in.showTokens(out, "answer", e.Response())
	}
	return nil
}

func (in *Inspection) showTokens(out io.Writer, what string, ids []int32) {
	text := in.Model.Tokenizer.Decode(ids, false)
	fmt.Fprintf(out, "\n%-8s %d tokens\n  ids %d\n%s\n", what, len(ids), ids, Indent(text))
}

// templateSource says which chat template is used.
func (in *Inspection) templateSource() string {
	cfg := in.Config
	switch {
	case cfg.Model.ChatTemplatePath != "":
		return fmt.Sprintf("%s, model.chat_template_path (%s)", cfg.Model.ChatTemplatePath,
			cfg.Origin("model.chat_template_path"))
	case cfg.Explorer.RolloutModel.ChatTemplate != "":
		key := templateKey(cfg)
		return fmt.Sprintf("%s (%s)", key, cfg.Origin(key))
	}
	return "the model's own, in " + in.Model.Dir
}

// systemSource says which system prompt a task has.
func (in *Inspection) systemSource(t workflow.Task) string {
	set, at := in.tasks.Set(t.Taskset)
	w, r := in.train.Way(t)
	own := workflow.BuiltInPrompt(w, set.Format.SystemPrompt, &r)
	key := at + ".format.system_prompt"
	switch {
	case own.Text != "" && own.Replaceable:
		return "built into the workflow, in words that are not Trinity-RFT's; " + key + " replaces it"
	case own.Text != "":
		return "rules built into the workflow, in words that are not Trinity-RFT's"
	case set.Format.SystemPrompt != "":
		return fmt.Sprintf("%s (%s)", key, in.Config.Origin(key))
	}
	return "none from the configuration; set " + key + " for one"
}

// Indent sets a text off from what is said about it.
func Indent(text string) string {
	return "  | " + strings.ReplaceAll(foreign.Plain(text), "\n", "\n  | ")
}
