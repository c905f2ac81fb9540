package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Templates that change earlier turns: one drops what an answer says up to </think>, the other shows their
// beginning, trimmed.
var editing = map[string]string{
	"drops": `{%- for m in messages -%}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and '</think>' in m.content %}{{ m.content.split('</think>')[-1] }}{% else %}{{ ` +
		`m.content }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`,
	"shortens": `{%- for m in messages -%}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{{ (m.content | trim)[:30] }}{% else %}{{ m.content }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`,
}

// lake is a job of two steps of frozen_lake_workflow with a chat template of these words.
func lake(t testing.TB, dir, template string, more ...string) *config.Config {
	t.Helper()
	aside := t.TempDir()
	data, path := filepath.Join(aside, "tasks.jsonl"), filepath.Join(aside, "template.jinja")
	row := `{"size": 2, "p": 0.8, "seed": 42}` + "\n"
	if err := errors.Join(os.WriteFile(data, []byte(row+row), 0o644),
		os.WriteFile(path, []byte(template), 0o644)); err != nil {
		t.Fatal(err)
	}
	return load(t, dir, append([]string{"name=turns", "seed=3", "buffer.batch_size=2", "algorithm.repeat_times=2",
		"buffer.total_steps=2", "trainer.total_steps=2",
		"model.max_response_tokens=200", "model.max_prompt_tokens=300", "model.chat_template_path=" + path,
		"model.tinker.rank=4",
		"buffer.explorer_input.eval_tasksets=[]", "explorer.eval_on_startup=false",
		"buffer.explorer_input.taskset.rollout_args.max_tokens=200",
		"buffer.explorer_input.taskset.path=" + data,
		"buffer.explorer_input.taskset.default_workflow_type=frozen_lake_workflow",
		"buffer.explorer_input.taskset.workflow_args={agent_max_steps: 3}"}, more...)...)
}

// kept are the rollouts of a step.
func kept(t testing.TB, cfg *config.Config, step int) (list []rollout.Record) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(cfg.JobDir(), "rollouts", fmt.Sprintf("step_%06d.jsonl", step)))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var r rollout.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// A template that changes earlier turns trains: an episode continues in further sequences, sampler and trainer
// agree on each token to the bit, the sequences are counted, and the run repeats, killed or not.
func TestTemplatesThatChangeTurns(t *testing.T) {
	t.Parallel()
	for name, template := range editing {
		t.Run(name, func(t *testing.T) {
			if name == "drops" {
				unraced(t, "the other template")
			}
			o := saying("</think>")
			if name == "shortens" {
				o = options()
				survivesKills(t, o, 3, jobOf(func(t testing.TB, dir string) *config.Config {
					return lake(t, dir, template)
				}))
			}
			cfg := lake(t, t.TempDir(), template)
			want := runs(t, cfg, o)
			countsSequences(t, cfg, want)
			same(t, "again", runs(t, lake(t, t.TempDir(), template), o), want)
		})
	}
}

// countsSequences compares the metrics of new sequences with the rollouts, and the trainer's logprobs with the
// sampler's.
func countsSequences(t *testing.T, cfg *config.Config, lines []monitor.Line) {
	t.Helper()
	for i, line := range lines {
		if kl := line.Metrics["train/kl_sample_train_v2"]; kl != 0 {
			t.Errorf("step %d: sampler and trainer differ by %g", i+1, kl)
		}
		list := kept(t, cfg, i+1)
		sum := 0
		for _, r := range list {
			sum += len(r.Starts)
			if got := r.Metrics["new_sequences"]; len(r.Starts) > 0 && got != float64(len(r.Starts)) {
				t.Errorf("%s has the metric %v for %d new sequences", r.ID, got, len(r.Starts))
			}
			for _, at := range r.Starts {
				if r.Logprobs[at] != 0 || r.Logprobs[at-1] == 0 {
					t.Errorf("%s: a sequence begins at token %d between the logprobs %v and %v, want it after what "+
						"was sampled", r.ID, at, r.Logprobs[at-1], r.Logprobs[at])
				}
			}
		}
		if got, want := line.Metrics["rollout/new_sequences/mean"], float64(sum)/float64(len(list)); sum == 0 ||
			got != want {
			t.Errorf("step %d: rollout/new_sequences/mean is %g, want the %d of %d rollouts", i+1, got, sum, len(list))
		}
		if n := line.Metrics["experience_pipeline/experience_count"]; n != 4 || len(list) != 4 {
			t.Errorf("step %d: %g experiences and %d rollouts, want one for each of 4 episodes", i+1, n, len(list))
		}
	}
}

// The templates of models train too.
func TestTemplatesOfModels(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTemplatesThatChangeTurns")
	for name, wants := range map[string]bool{"qwen3": true, "qwen25": false} { // whether it drops thoughts
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("../hf/jinja/testdata/" + name + ".jinja")
			if err != nil {
				t.Fatal(err)
			}
			cfg := lake(t, t.TempDir(), string(text), "model.max_prompt_tokens=450",
				"model.max_response_tokens=200", "buffer.explorer_input.taskset.rollout_args.max_tokens=200")
			lines := runs(t, cfg, saying("</think>"))
			for _, line := range lines {
				anew := line.Metrics["rollout/new_sequences/mean"]
				if anew > 0 != wants || line.Metrics["rollout/failed_task_count"] != 0 ||
					line.Metrics["train/kl_sample_train_v2"] != 0 {
					t.Errorf("step %d: %v", line.Step, line.Metrics)
				}
			}
		})
	}
}

// Episodes of several sequences go over the wire, and through a table between two processes, to the same bits.
func TestSequencesTravel(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTemplatesThatChangeTurns")
	trained := []string{"actor/", "critic/", "sample/", "response_length/"}
	want := runs(t, lake(t, t.TempDir(), editing["shortens"]), options())
	o := options()
	o.LookupEnv = withKey
	dir := t.TempDir()
	same(t, "on a server", runs(t, lake(t, dir, editing["shortens"], "model.tinker.base_url="+serve(t)), o), want)
	dir = t.TempDir()
	table := "buffer.trainer_input.experience_buffer={storage_type: sql, name: shared, path: \"sqlite:///" +
		filepath.Join(dir, "shared.db") + "\"}"
	want = only(want, trained...)
	same(t, "through a table", only(runs(t, lake(t, dir, editing["shortens"], table), options()), trained...), want)
	if len(want[0].Metrics) < 10 {
		t.Errorf("compared %v", want[0].Metrics)
	}
}
