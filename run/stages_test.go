package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// warmed is a run in two stages: two steps on the demonstrations, then two of grpo.
var warmed = and(tiny, "stages=[{stage_name: warmup, mode: train, algorithm: {algorithm_type: sft, optimizer: {lr: "+
	"1e-3}}, buffer: {total_steps: 2, train_batch_size: 4, trainer_input: {experience_buffer: {storage_type: file, "+
	"path: examples/tiny/expert, format: {prompt_type: plaintext, prompt_key: question, response_key: response}}}}, "+
	"trainer: {total_steps: 2}},{stage_name: rft}]")

// staged runs all stages and returns the lines of each.
func staged(t testing.TB, dir string, o Options) map[string][]monitor.Line {
	t.Helper()
	runs(t, load(t, dir, warmed...), o)
	return stageLines(t, dir)
}

// stageLines are the metrics of each stage of the run in dir.
func stageLines(t testing.TB, dir string) map[string][]monitor.Line {
	t.Helper()
	lines := map[string][]monitor.Line{}
	for _, stage := range []string{"warmup", "rft"} {
		l, err := monitor.ReadLog(filepath.Join(dir, "trinity-tiny", "gsm8k", stage, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines[stage] = timeless(l)
	}
	return lines
}

// A stage begins with the weights that the one before it ended with, in a job directory of its own.
func TestStages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := staged(t, dir, options())
	if len(lines["warmup"]) != 2 || len(lines["rft"]) != 3 {
		t.Fatalf("%d and %d lines, want 2 and 3", len(lines["warmup"]), len(lines["rft"]))
	}
	alone := runs(t, load(t, t.TempDir(), tiny...), options())
	first := lines["rft"][0].Metrics
	if v := first["sample/model_version/mean"]; v != 0 {
		t.Errorf("the first step samples with version %v, want 0", v)
	}
	if a, b := first["sampler/token_entropy"], alone[0].Metrics["sampler/token_entropy"]; a == b {
		t.Errorf("the entropy of the first samples is %v with and without the warm-up", a)
	}
	if kl := first["train/kl_sample_train_v1"]; kl != 0 {
		t.Errorf("the trainer does not begin with the sampler's weights: they differ by %v", kl)
	}
	meta, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "stage_meta.json"))
	if err != nil || !strings.Contains(string(meta), `"latest_stage": 1`) {
		t.Errorf("stage_meta.json is %q, %v", meta, err)
	}
}

// What a later stage is compared with are the weights that it began with, on the local engine and on a server.
func TestReferenceOfAStage(t *testing.T) {
	t.Parallel()
	unraced(t, "TestStagesSurviveKills")
	remote := options()
	remote.LookupEnv = withKey
	for name, o := range map[string]Options{"local": options(), "server": remote} {
		dir, args := t.TempDir(), and(warmed, "algorithm.kl_loss_fn=k2", "algorithm.kl_loss_fn_args={kl_coef: 0.1}")
		if name == "server" {
			args = append(args, "model.tinker.base_url="+serve(t))
		}
		runs(t, load(t, dir, args...), o)
		lines, err := monitor.ReadLog(filepath.Join(dir, "trinity-tiny", "gsm8k", "rft", "metrics.jsonl"))
		if err != nil || len(lines) != 3 {
			t.Fatalf("%s: %d lines, %v", name, len(lines), err)
		}
		if first, last := lines[0].Metrics["actor/kl_loss"], lines[2].Metrics["actor/kl_loss"]; first != 0 ||
			last == 0 {
			t.Errorf("%s: the first step is %v away from the reference, the third %v; want 0 and some", name, first,
				last)
		}
	}
}

// Killed at any operation on the disk in any stage, the run continues to the same bits.
func TestStagesSurviveKills(t *testing.T) {
	t.Parallel()
	survivesKills(t, options(), 6, func(t testing.TB, dir string, o Options) ([]monitor.Line, error) {
		if _, err := Run(t.Context(), load(t, dir, warmed...), o); err != nil {
			return nil, err
		}
		all := stageLines(t, dir)
		return append(all["warmup"], all["rft"]...), nil
	})
}

func TestStagesRefuse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	job := filepath.Join(dir, "trinity-tiny", "gsm8k")
	if err := os.MkdirAll(job, 0o755); err != nil {
		t.Fatal(err)
	}
	for meta, want := range map[string]string{`{"latest_stage": 2}`: "put the missing stages back",
		`x`: "cannot be read", `{"latest_stage": 1}`: "stage warmup left no state"} {
		if err := os.WriteFile(filepath.Join(job, "stage_meta.json"), []byte(meta), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Run(context.Background(), load(t, dir, warmed...), options())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", meta, err, want)
		}
	}
}

// A stage whose data end before trainer.total_steps is complete. It could be longer when its data are read once more.
func TestStageThatItsDataEnd(t *testing.T) {
	t.Parallel()
	unraced(t, "TestStagesSurviveKills")
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := strings.Repeat(`{"question": "1+1", "response": "2"}`+"\n", 4)
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, tt := range []struct{ epochs, steps, says string }{
		{"1", "200", ""},
		{"1", "200", ""},
		{"1", "3", ""},
		{"2", "200", "stage warmup ended with step 2 and is not continued to step 4, "},
		{"2", "3", "stage warmup ended with step 2 and is not continued to step 3, "},
	} {
		args := and(tiny, "stages=[{stage_name: warmup, mode: train, algorithm: {algorithm_type: sft}, buffer: "+
			"{total_epochs: "+tt.epochs+", train_batch_size: 2, trainer_input: {experience_buffer: {storage_type: "+
			"file, path: "+path+", format: {prompt_type: plaintext, prompt_key: question, response_key: response}}}}, "+
			"trainer: {total_steps: "+tt.steps+"}},{stage_name: rft}]")
		var out bytes.Buffer
		o := options()
		o.Out = &out
		if _, err := Run(t.Context(), load(t, dir, args...), o); err != nil {
			t.Fatal(err)
		}
		if says := out.String(); strings.Contains(says, "is not continued") != (tt.says != "") ||
			!strings.Contains(says, tt.says) {
			t.Errorf("%s epochs, at most %s steps: said\n%s\nwant %q", tt.epochs, tt.steps, says, tt.says)
		}
	}
}

// Trinity-RFT 0.5.2 wrote stage_meta.json outside the group. It counts for a group in which the job has begun.
func TestStagesOfAnOlderFolder(t *testing.T) {
	t.Parallel()
	unraced(t, "TestStagesSurviveKills")
	dir := t.TempDir()
	project := filepath.Join(dir, "trinity-tiny")
	runs(t, load(t, dir, and(warmed, "group=g")...), options())
	older := filepath.Join(project, "gsm8k")
	err := errors.Join(os.MkdirAll(older, 0o755),
		os.Rename(filepath.Join(project, "g", "gsm8k", "stage_meta.json"), filepath.Join(older, "stage_meta.json")))
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{"g": "stage    2 of 2", "other": "stage    1 of 2"} {
		var out bytes.Buffer
		o := options()
		o.Out = &out
		if _, err := Run(t.Context(), load(t, dir, and(warmed, "group="+group)...), o); err != nil {
			t.Fatal(err)
		}
		if _, said, _ := strings.Cut(out.String(), "stage    "); !strings.HasPrefix("stage    "+said, want) {
			t.Errorf("group %s begins otherwise than with %q:\n%s", group, want, &out)
		}
	}
}
