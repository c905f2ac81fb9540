package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// steps sets how long a run is planned.
func steps(n int) []string {
	return []string{fmt.Sprint("buffer.total_steps=", n), fmt.Sprint("trainer.total_steps=", n)}
}

// A job whose weights are gone that the next step samples with says so at once.
func TestExtendWithoutTheWeights(t *testing.T) {
	t.Parallel()
	dir, args := t.TempDir(), and(tiny, "trainer.save_interval=2", "synchronizer.sync_timeout=20")
	runs(t, load(t, dir, and(args, steps(2)...)...), options()) // offset 0: version 2 alone is kept
	var out bytes.Buffer
	o := options()
	o.Out = &out
	_, err := Run(t.Context(), load(t, dir, and(args, append(steps(4), "synchronizer.sync_offset=1")...)...), o)
	if err == nil || !strings.Contains(err.Error(), "explore step 3 samples with the weights of step 1") ||
		!strings.Contains(err.Error(), "synchronizer.sync_offset=0") {
		t.Errorf("error %v, want one that names the step, the weights and the remedy", err)
	}
	if got := runs(t, load(t, dir, and(args, steps(4)...)...), options()); len(got) != 4 {
		t.Errorf("%d lines afterwards, want 4", len(got))
	}
}

// Epochs say how often examples are read; trainer.total_steps ends that earlier, and never reads them again.
func TestStepsOfExamples(t *testing.T) {
	t.Parallel()
	unraced(t, "TestSecondProcessIsRefused/sft")
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := strings.Repeat(`{"question": "1+1", "response": "2"}`+"\n", 4)
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		epochs, trainer, want int
		note                  bool
	}{{1, 200, 2, true}, {3, 200, 6, true}, {3, 5, 5, false}, {1, 2, 2, false}} {
		args := and(tiny, "mode=train", "algorithm.algorithm_type=sft", "buffer.train_batch_size=2",
			"buffer.total_steps=null", fmt.Sprint("buffer.total_epochs=", tt.epochs), fmt.Sprint("trainer.total_steps=",
				tt.trainer), "buffer.trainer_input.experience_buffer={storage_type: file, path: "+path+", format: "+
				"{prompt_type: plaintext, prompt_key: question, response_key: response}}")
		sum, out := said(t, options(), args...)
		if n := len(sum.Lines); n != tt.want {
			t.Errorf("%d epochs of 2 steps, at most %d steps: %d steps, want %d", tt.epochs, tt.trainer, n, tt.want)
		}
		says := fmt.Sprintf("trainer.total_steps is %d, and training ends after %d steps", tt.trainer, tt.want)
		if strings.Contains(out, says) != tt.note {
			t.Errorf("said\n%s\nwant %q in it: %v", out, says, tt.note)
		}
	}
}

// A run on examples is extended too, and says what a decaying learning rate makes of that.
func TestExtendExamples(t *testing.T) {
	t.Parallel()
	unraced(t, "TestDPOSurvivesKills")
	sft := and(tiny, "mode=train", "algorithm.algorithm_type=sft", "buffer.train_batch_size=4",
		"buffer.trainer_input.experience_buffer={storage_type: file, path: examples/tiny/expert, format: "+
			"{prompt_type: plaintext, prompt_key: question, response_key: response}}")
	dir := t.TempDir()
	runs(t, load(t, dir, and(sft, steps(2)...)...), options())
	same(t, "extended", runs(t, load(t, dir, and(sft, steps(5)...)...), options()),
		runs(t, load(t, t.TempDir(), and(sft, steps(5)...)...), options()))

	var out bytes.Buffer
	o := options()
	o.Out = &out
	if _, err := Run(t.Context(),
		load(t, dir, and(sft, append(steps(6), "algorithm.optimizer.lr_scheduler_type=cosine",
			"algorithm.optimizer.lr_warmup_steps=1")...)...), o); err != nil {
		t.Fatal(err)
	}
	want := "steps 1 to 5 had the learning rates of a run of 5 steps; later ones have the rates of a run of 6"
	if !strings.Contains(out.String(), want) {
		t.Errorf("said\n%s\nwant %q", out.String(), want)
	}
}

// The last of several stages is extended; that an earlier one is not is said.
func TestExtendStages(t *testing.T) {
	t.Parallel()
	unraced(t, "TestStagesSurviveKills")
	staged := func(n int) []string { return and(warmed, steps(n)...) }
	read := func(dir string) []monitor.Line {
		l, err := monitor.ReadLog(filepath.Join(dir, "trinity-tiny", "gsm8k", "rft", "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return timeless(l)
	}
	for _, offset := range []string{"0", "1"} {
		behind := "synchronizer.sync_offset=" + offset
		dir, whole := t.TempDir(), t.TempDir()
		runs(t, load(t, dir, append(staged(2), behind)...), options())
		runs(t, load(t, dir, append(staged(4), behind)...), options())
		runs(t, load(t, whole, append(staged(4), behind)...), options())
		same(t, "the last stage, offset "+offset, read(dir), read(whole))
	}
	dir := t.TempDir()
	runs(t, load(t, dir, staged(2)...), options())
	var out bytes.Buffer
	o := options()
	o.Out = &out
	longer := staged(3)
	for i, a := range longer {
		longer[i] = strings.ReplaceAll(a, "total_steps: 2", "total_steps: 3")
	}
	if _, err := Run(t.Context(), load(t, dir, longer...), o); err != nil {
		t.Fatal(err)
	}
	if want := "stage warmup ended with step 2 and is not continued to step 3"; !strings.Contains(out.String(), want) {
		t.Errorf("said\n%s\nwant %q", out.String(), want)
	}
}

// A job is refused another model or adapter than it has, by key and by both values; a complete one says what to raise.
func TestResumeSaysWhatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs(t, load(t, dir, and(tiny, steps(2)...)...), options())
	for _, c := range []struct{ override, want string }{
		{"model.tinker.rank=8", "begun with model.tinker.rank 4 and the configuration now says 8; set the old value"},
		{"model.model_path=examples/llama/model", "begun with model.model_path examples/tiny/model and the " +
			"configuration now says examples/llama/model"},
		{"model.tinker.train_mlp=false", "train_mlp"},
	} {
		_, err := Run(t.Context(), load(t, dir, and(tiny, append(steps(3), c.override)...)...), options())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.override, err, c.want)
		}
	}
	for _, c := range []struct {
		overrides []string
		want      string
	}{
		{steps(2), "nothing to do: all 2 steps are trained; raise buffer.total_steps and trainer.total_steps to " +
			"train more"},
		{[]string{"trainer.total_steps=2"}, "raise trainer.total_steps to train more"},
		{[]string{"buffer.total_steps=2"}, "raise buffer.total_steps to train more"},
	} {
		var out bytes.Buffer
		o := options()
		o.Out = &out
		if _, err := Run(t.Context(), load(t, dir, and(tiny, c.overrides...)...), o); err != nil ||
			!strings.Contains(out.String(), c.want) {
			t.Errorf("%v: %v, said\n%s\nwant %q", c.overrides, err, out.String(), c.want)
		}
	}
}

// The GEM trainer's jobs are extended to the bits of longer ones.
func TestExtendGem(t *testing.T) {
	t.Parallel()
	unraced(t, "TestGemInterruptAndResume")
	root, whole := t.TempDir(), t.TempDir()
	o := options()
	o.Now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	gemRuns(t, o, short(root, "max_steps=2", "eval_every=0"))
	_, got := gemRuns(t, o, short(root, "max_steps=4", "eval_every=0", "resume=latest"))
	_, want := gemRuns(t, o, short(whole, "max_steps=4", "eval_every=0"))
	same(t, "extended", got, want)
}

// Sampler weights that an older program deleted when a job was finished are made again where a state was saved, and the
// bits are those of a longer plan.
func TestExtendFromSavedStates(t *testing.T) {
	t.Parallel()
	unraced(t, "TestGoesBackToTheSavedState")
	remote, lost := options(), options()
	remote.LookupEnv, lost.Fleeting = withKey, forgets
	args := and(tiny, "synchronizer.sync_offset=1", "synchronizer.sync_timeout=20")
	want := runs(t, load(t, t.TempDir(), and(args, steps(4)...)...), options())
	for name, o := range map[string]Options{"local": options(), "server": remote, "a service without models": lost} {
		args := args // not the server's for those that follow
		if name == "server" {
			args = and(args, "model.tinker.base_url="+serve(t))
		}
		dir := t.TempDir()
		runs(t, load(t, dir, and(args, steps(2)...)...), o)
		if err := os.Remove(filepath.Join(dir, "trinity-tiny", "gsm8k", "global_step_1",
			"remote_sampler_path.txt")); err != nil {
			t.Fatal(err)
		}
		same(t, name, runs(t, load(t, dir, and(args, steps(4)...)...), o), want)
	}
}

// Either half of a job in two processes may be started first when it is planned longer, by steps or by epochs.
func TestExtendApartInEitherOrder(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"table", "epochs"} {
		if testing.Short() && kind == "epochs" {
			continue // the same goroutines
		}
		l := lasting{style: "fixed", interval: 1, offset: 1, kind: kind, apart: true, short: 1, long: 2}
		if kind == "epochs" {
			l.more = []string{fewTasks, "buffer.total_steps=null"}
		}
		want := l.must(t, t.TempDir(), l.long, "")
		for _, first := range []string{"trainer", "explorer"} {
			dir := t.TempDir()
			l.must(t, dir, l.short, "")
			l.ahead = first
			same(t, kind+", first the "+first, l.must(t, dir, l.long, ""), want)
		}
	}
}

// An explorer that is planned longer says that the trainer was done and has to be started again.
func TestExtendedExplorerAlone(t *testing.T) {
	t.Parallel()
	l := lasting{style: "fixed", interval: 1, offset: 0, kind: "table", apart: true}
	dir := t.TempDir()
	l.must(t, dir, 1, "")
	var out bytes.Buffer
	o := options()
	o.Out = &out
	_, err := Run(t.Context(), load(t, dir, and(l.args(4), append(asExplorer, "synchronizer.sync_timeout=0.3")...)...),
		o)
	if want := "the trainer of this job was done with step 1; start it again"; err == nil ||
		!strings.Contains(out.String(), want) {
		t.Errorf("%v, said\n%s\nwant an error and %q", err, out.String(), want)
	}
}
