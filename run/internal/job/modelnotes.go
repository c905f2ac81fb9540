package job

import (
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// ModelNotes are the notes of the job's model: where it is, also for who comes from another folder, and how it is
// asked.
func (j *Job) ModelNotes() jobdir.Notes {
	cfg, m := j.Config, j.Model
	n := jobdir.Notes{Model: m.Name, Thinking: m.Thinking, Temperature: cfg.Model.Temperature, TopP: cfg.Model.TopP,
		TopK: cfg.Model.TopK}
	for _, name := range []string{cfg.Model.ModelPath, m.Name} { // on a server, the first has the tokenizer
		path := j.Find(name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if path, err := filepath.Abs(path); err == nil {
			n.Path = path
			break
		}
	}
	if sets := cfg.Buffer.ExplorerInput.Training(); len(sets) > 0 {
		t, r := &sets[0], sets[0].RolloutArgs
		n.System = systemPrompt(t, j.Own)
		n.Temperature, n.TopP, n.TopK = *r.Temperature, *r.TopP, *r.TopK
	} else if b := cfg.Buffer.TrainerInput.ExperienceBuffer; b != nil {
		n.System = b.Format.SystemPrompt
	}
	return n
}

// systemPrompt is the system prompt that a taskset is sampled with: its own, or that which is built into the workflow.
func systemPrompt(t *config.Taskset, own workflow.Own) string {
	w, err := workflow.New(t.DefaultWorkflowType, own)
	if err != nil {
		return t.Format.SystemPrompt // the error comes when the tasks are opened
	}
	r := workflow.Rollout{RewardName: t.DefaultRewardFnType, SystemPrompt: t.Format.SystemPrompt, Args: t.WorkflowArgs}
	if with, err := workflow.WithDefaults(t.DefaultWorkflowType, r, own); err == nil {
		r = with
	}
	if own := workflow.BuiltInPrompt(w, t.Format.SystemPrompt, &r); own.Text != "" {
		return own.Text
	}
	return r.SystemPrompt
}
