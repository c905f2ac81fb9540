package run

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// lasting is a kind of job that can be planned shorter or longer.
type lasting struct {
	style            string
	interval, offset int
	kind             string // what is trained, and what the plan counts
	more             []string
	apart            bool   // explorer and trainer are two processes
	ahead            string // the one that starts earlier; empty: both at once
	wire             bool   // over a server
	loose            bool   // which weights a step samples with depends on the clock
	often            bool   // in the ordinary tests, and killed too
	short, long      int
}

func (l lasting) name() string {
	return fmt.Sprintf("%s_%d_%d/%s/%s/%s/%d_to_%d", l.style, l.interval, l.offset, l.kind, l.mode(), l.where(),
		l.short, l.long)
}

func (l lasting) mode() string {
	switch {
	case l.apart:
		return "apart"
	case l.kind == "sft" || l.kind == "dpo":
		return "train"
	}
	return "both"
}

func (l lasting) where() string {
	if l.wire {
		return "wire"
	}
	return "local"
}

func (l lasting) halves() []string {
	if l.apart {
		return []string{"trainer", "explorer"}
	}
	return []string{""}
}

const (
	betweenTable = "buffer.trainer_input.experience_buffer={storage_type: sql}"
	replayed     = "buffer.trainer_input.experience_buffer={storage_type: sql, replay_buffer: {enable: true, " +
		"priority_fn: linear_decay}}"
	fewTasks = "buffer.explorer_input.taskset={name: few, path: run/testdata/few.jsonl, default_workflow_type: " +
		"math_workflow, format: {prompt_key: question, response_key: answer}}"
	fewHeldOut = "buffer.explorer_input.eval_tasksets=[{name: few, path: run/testdata/few.jsonl, " +
		"default_workflow_type: math_workflow, format: {prompt_key: question, response_key: answer}}]"
)

// lastings are all kinds.
func lastings() []lasting {
	return slices.Concat(scheduled("fixed", [][2]int{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {3, 2}}), others(false),
		others(true),
		scheduled("fully_async", [][2]int{{1, 0}, {2, 0}}), scheduled("newest", [][2]int{{1, 0}}),
		scheduled("explorer_driven", [][2]int{{1, 0}, {1, 1}, {2, 1}}),
		scheduled("trainer_driven", [][2]int{{1, 0}, {1, 1}, {2, 1}}))
}

// scheduled are jobs of one style with some intervals and offsets, in every mode.
func scheduled(style string, schedules [][2]int) (list []lasting) {
	for _, s := range schedules {
		for _, l := range []lasting{{kind: "grpo"}, {kind: "table", more: []string{betweenTable}},
			{kind: "table", apart: true}, {kind: "grpo", wire: true}} {
			l.style, l.interval, l.offset, l.short, l.long = style, s[0], s[1], 3, 5
			l.loose = style != "fixed" && style != "fully_async"
			if s[0] == 1 {
				l.short = 2
			}
			plain := l.more == nil && !l.apart && !l.wire
			l.often = s == [2]int{1, 1} && l.more == nil && (plain || style == "fixed") || style == "fixed" &&
				s == [2]int{2, 1} && plain || style == "fully_async" && s[0] == 1 && l.more == nil
			list = append(list, l)
		}
	}
	return list
}

// others are jobs that are planned or trained in another way, with one schedule.
func others(wire bool) []lasting {
	list := []lasting{
		{kind: "epochs", more: []string{fewTasks, "buffer.total_steps=null"}, short: 1, long: 2, apart: true},
		{kind: "epochs", more: []string{fewTasks, "buffer.total_steps=null"}, short: 1, long: 2, often: !wire},
		{kind: "evals", more: []string{fewHeldOut, "explorer.eval_interval=2"}, short: 2, long: 4},
		{kind: "saved", more: []string{"trainer.save_interval=2", "trainer.max_checkpoints_to_keep=1"}, short: 3,
			long: 5},
		{kind: "reused", more: []string{replayed}, short: 2, long: 4, loose: true},
		{kind: "sft→rft", short: 2, long: 4, often: !wire},
		{kind: "sft", short: 2, long: 4, often: !wire},
		{kind: "dpo", short: 2, long: 4},
	}
	for i := range list {
		l := &list[i]
		l.style, l.interval, l.offset, l.wire = "fixed", 1, 1, wire
	}
	return list
}

// args are the overrides for a plan of n.
func (l lasting) args(n int) []string {
	base := tiny
	switch l.kind {
	case "sft→rft":
		base = warmed
	case "sft", "dpo":
		base = []string{"seed=5", "buffer.train_batch_size=2", "trainer.save_interval=2"}
	default:
		base = and(base, "synchronizer.sync_style="+l.style, fmt.Sprintf("synchronizer.sync_interval=%d", l.interval))
	}
	plan := fmt.Sprintf("buffer.total_steps=%d", n)
	if l.kind == "epochs" {
		plan = fmt.Sprintf("buffer.total_epochs=%d", n)
	}
	base = and(base, "synchronizer.sync_timeout=20", "trainer.total_steps=null", plan)
	if l.mode() != "train" {
		base = and(base, fmt.Sprintf("synchronizer.sync_offset=%d", l.offset))
	}
	return and(base, l.more...)
}

func (l lasting) load(t testing.TB, dir string, overrides ...string) *config.Config {
	if l.mode() == "train" {
		return example(t, dir, l.kind, overrides...)
	}
	return load(t, dir, overrides...)
}

// lines are the metrics, of all stages. The evaluation at the end of a plan is not in a longer one. Beside a table the
// explorer's metrics of steps that were not trained when the run stopped are not kept.
func (l lasting) lines(t testing.TB, dir string) (lines []monitor.Line, err error) {
	folders := []string{dir}
	if l.kind == "sft→rft" {
		folders = []string{filepath.Join(dir, "..", "warmup"), dir}
	}
	for _, folder := range folders {
		some, err := monitor.ReadLog(filepath.Join(folder, "metrics.jsonl"))
		if err != nil {
			return nil, err
		}
		lines = append(lines, some...)
	}
	switch l.kind {
	case "table", "reused":
		lines = only(lines, "actor/", "critic/", "sample/", "response_length/")
	case "evals":
		lines = only(lines, "actor/", "critic/", "sample/", "response_length/", "rollout/", "experience_pipeline/")
	}
	return timeless(lines), nil
}
