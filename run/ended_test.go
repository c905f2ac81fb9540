package run

import (
	"strings"
	"testing"
)

// A run that its data end evaluates the weights that it ends with, in a line of its own, also where they were not
// published yet; started again, it has the same lines. That too few samples are left is said once.
func TestEndsEarlyWithAnEvaluation(t *testing.T) {
	t.Parallel()
	evals := "buffer.explorer_input.eval_tasksets=[{name: few, path: run/testdata/few.jsonl, default_workflow_type: " +
		"math_workflow, format: {prompt_key: question, response_key: answer, system_prompt: \"Think, then answer.\"}}]"
	const key = "eval/few/accuracy/mean@1"
	for _, schedule := range []string{"synchronizer.sync_interval=1", "synchronizer.sync_interval=2",
		"synchronizer.sync_offset=1"} {
		args := and(tiny, "buffer.total_steps=6", "trainer.total_steps=6", operatorsOf("{name: drop_steps}"),
			"synchronizer.sync_timeout=30", evals, "explorer.eval_interval=6", schedule)
		o := options()
		o.Plugins.Operators = dropping("2", "3", "5")
		sum, out := said(t, o, args...)
		last := sum.Lines[len(sum.Lines)-1]
		if sum.Steps != 3 || last.Step != 4 || last.Metrics["critic/rewards/mean"] != 0 {
			t.Errorf("%s: %d steps, the last line %v; want 3 steps and a line 4", schedule, sum.Steps, last)
		}
		if _, ok := last.Metrics[key]; !ok {
			t.Errorf("%s: the last line %v has no %s\n%s", schedule, last, key, out)
		}
		n := strings.Count(out, "too few samples are left")
		if n != 1 || !strings.Contains(out, "Filters have dropped ") {
			t.Errorf("%s: said %d times that too few samples are left\n%s", schedule, n, out)
		}
		dir := t.TempDir()
		want := runs(t, load(t, dir, args...), o)
		same(t, schedule+", started again", runs(t, load(t, dir, args...), o), want)
		survivesKills(t, o, 3, jobWith(args...))
	}
}

// On a server too the stage after one that its data end samples with that one's last weights.
func TestStageOnAServerThatItsDataEnd(t *testing.T) {
	t.Parallel()
	o := options()
	o.LookupEnv = withKey
	o.Plugins.Operators = dropping("2", "3", "5")
	stages := "stages=[{stage_name: first, mode: both, data_processor: {experience_pipeline: {operators: [{name: " +
		"drop_steps}]}}}, {stage_name: second, mode: both}]"
	sum, out := said(t, o, and(tiny, "buffer.total_steps=6", "trainer.total_steps=6", "synchronizer.sync_interval=2",
		"synchronizer.sync_timeout=30", stages, "model.tinker.base_url="+serve(t))...)
	if sum.Steps != 6 || !strings.Contains(out, "ended after step 3 of 6") {
		t.Errorf("%d steps in the last stage\n%s", sum.Steps, out)
	}
}
