package job

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// A job notes the system prompt that its tasks are sampled with: the configuration's, else the workflow's own.
func TestSystemPrompt(t *testing.T) {
	for _, tt := range []struct {
		workflow, given string
		own             bool // what is noted is the workflow's
	}{
		{"simple_workflow", "", false},
		{"simple_workflow", "Be brief.", false},
		{"math_workflow", "", true},
		{"math_workflow", "Be brief.", false},
		{"math_boxed_workflow", "", true},
		{"math_boxed_workflow", "Be brief.", false},
		{"no_such_workflow", "Be brief.", false},
	} {
		set := &config.Taskset{DefaultWorkflowType: tt.workflow, DefaultRewardFnType: "math_reward",
			Format: config.Format{SystemPrompt: tt.given}}
		got := systemPrompt(set, workflow.Own{})
		if tt.own != (got != tt.given) || tt.own && got == "" {
			t.Errorf("%s with %q: %q", tt.workflow, tt.given, got)
		}
	}
}
