package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shownResults are what the results line names, and the folder.
func shownResults(t *testing.T, out string) (dir string, names []string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^results +(\S+) \((.*)\)$`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no results line:\n%s", out)
	}
	return m[1], strings.Split(m[2], ", ")
}

// The results line names what there is, all of it and nothing else, in every mode.
func TestResultsLineNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	all := []string{"metrics.jsonl", "metrics-benchmark.jsonl", "reward.svg", "rollouts/", "monitor/tensorboard",
		"global_step_*"}
	for name, args := range map[string][]string{
		"both":    nil,
		"bench":   {few, "mode=bench"},
		"dropped": {operatorsOf("{name: reward_filter, args: {threshold: 5}}")},
		"sft":     sftArgs,
	} {
		_, out := said(t, options(), and(tiny, args...)...)
		dir, named := shownResults(t, out)
		for _, file := range all {
			found, err := filepath.Glob(filepath.Join(dir, file))
			says := strings.Contains(","+strings.Join(named, ",")+",", ","+file+",")
			if err != nil || says != (len(found) > 0) {
				t.Errorf("%s: %s is named: %v; found are %v\n%s", name, file, says, found, out)
			}
		}
	}
}

// sftArgs trains on the answers of the shipped problems.
var sftArgs = []string{"mode=train", "algorithm.algorithm_type=sft", "buffer.train_batch_size=8",
	"buffer.trainer_input.experience_buffer={name: sft, storage_type: file, path: examples/tiny/data/train.jsonl, " +
		"format: {prompt_type: plaintext, prompt_key: question, response_key: answer}}"}

// What is shown of examples is the mean NLL of a token, not the loss, whose scale is the optimizer's affair. A mean
// over one batch of all the rows it trains on is the sum of logprobs by the number of tokens, whatever the batch size
// is.
func TestNLLOfExamples(t *testing.T) {
	t.Parallel()
	unraced(t, "TestResultsLineNamesWhatThereIs")
	sum, out := said(t, options(), and(tiny, sftArgs...)...)
	first := sum.Lines[0].Metrics
	nll, loss := first["actor/nll"], first["actor/final_loss"]
	if nll <= 0 || nll < 7.9*loss || nll > 8.1*loss {
		t.Errorf("nll %v, loss %v of 8 rows; want the nll 8 times the loss", nll, loss)
	}
	if want := fmt.Sprintf("nll %.4f", nll); !strings.Contains(out, want) || strings.Contains(out, "loss ") {
		t.Errorf("the output has no %q, or a loss:\n%s", want, out)
	}
}

// The samples of evaluations, and of bench, stand under rollouts/: as many as were counted, with what was answered.
func TestEvaluationsKeepTheirSamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := and(tiny, few, "explorer.eval_on_startup=true", "model.max_prompt_tokens=256")
	lines := runs(t, load(t, dir, args...), onEngine())
	bench := runs(t, load(t, dir, and(args, "mode=bench")...), onEngine())
	job := filepath.Join(dir, "trinity-tiny", "gsm8k")
	for file, metric := range map[string]float64{
		"eval_few_step_000000.jsonl":  lines[0].Metrics["eval/few/accuracy/mean@2"],
		"eval_few_step_000003.jsonl":  lines[len(lines)-1].Metrics["eval/few/accuracy/mean@2"],
		"bench_few_step_000000.jsonl": bench[0].Metrics["bench/few/accuracy/mean@2"],
		"bench_few_step_000003.jsonl": bench[len(bench)-1].Metrics["bench/few/accuracy/mean@2"],
	} {
		data, err := os.ReadFile(filepath.Join(job, "rollouts", file))
		if err != nil {
			t.Error(err)
			continue
		}
		sum, n := 0.0, 0
		for line := range strings.Lines(string(data)) {
			var r struct {
				Prompt, Response string
				Metrics          map[string]float64
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Prompt == "" || r.Response == "" {
				t.Errorf("%s: %v: %.120s", file, err, line)
			}
			sum, n = sum+r.Metrics["accuracy"], n+1
		}
		if n == 0 || sum/float64(n) != metric {
			t.Errorf("%s: %d samples with accuracy %v; the metric is %v", file, n, sum/float64(n), metric)
		}
	}
}

// One evaluation is shown as one number, two as the first and the last.
func TestEvaluationsInTheSummary(t *testing.T) {
	t.Parallel()
	unraced(t, "TestEvaluationsKeepTheirSamples")
	held := regexp.MustCompile(`(?m)^held out .*accuracy.*$`)
	_, out := said(t, options(), and(tiny, few)...)
	if line := held.FindString(out); line == "" || strings.Contains(line, "→") {
		t.Errorf("one evaluation: %q\n%s", line, out)
	}
	_, out = said(t, options(), and(tiny, few, "explorer.eval_on_startup=true")...)
	if line := held.FindString(out); !strings.Contains(line, "→") {
		t.Errorf("two evaluations: %q\n%s", line, out)
	}
}
