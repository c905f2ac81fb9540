package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// short is a run of the shipped player cut down to a fraction of a second.
func short(dir string, more ...string) []string {
	return append([]string{"output_dir=" + dir, "wandb_name=g", "batch_size=8", "num_env=4", "max_steps=3",
		"save_every=2", "eval_every=2",
		"eval_episodes=6", "learning_rate=1e-3", "max_tokens=12", "seed=5"}, more...)
}

// gemRuns runs until it is done and returns the folder and the metrics without those of the clock.
func gemRuns(t testing.TB, o Options, pairs []string) (string, []monitor.Line) {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	if err := Gem(context.Background(), pairs, o); err != nil {
		t.Fatalf("Gem: %v\n%s", err, out.String())
	}
	_, rest, _ := strings.Cut(out.String(), "save path ")
	dir, _, _ := strings.Cut(rest, "\n")
	lines, err := monitor.ReadLog(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, timeless(lines)
}

// The seed's metrics, checkpoints and save path; and everything twice the same.
func TestGem(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := playing()
	o.Now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	dir, lines := gemRuns(t, o, short(root))
	if want := filepath.Join(root, "g_0304T05:06:07"); dir != want {
		t.Errorf("save path %s, want %s", dir, want)
	}
	if len(lines) != 4 || lines[0].Step != 0 || lines[3].Step != 3 {
		t.Fatalf("%d lines, want steps 0 to 2 and the evaluation after them", len(lines))
	}
	for _, key := range []string{"sampler/episode_return", "sampler/num_turns_per_episode", "sampler/action_num_tokens",
		"sampler/num_episodes",
		"sampler/token_entropy", "train/kl_sample_train_v1", "train/kl_sample_train_v2", "train/loss:sum"} {
		if _, ok := lines[2].Metrics[key]; !ok {
			t.Errorf("step 2 has no %s", key)
		}
	}
	for i, l := range lines[:3] {
		if v := l.Metrics["train/kl_sample_train_v2"]; v != 0 {
			t.Errorf("step %d: sampler and trainer differ by %v", i, v)
		}
	}
	for step, want := range map[int]bool{0: true, 1: false, 2: true, 3: true} {
		if _, ok := lines[step].Metrics["eval/game:GuessTheNumber-v0-easy/return"]; ok != want {
			t.Errorf("step %d is evaluated: %v, want %v", step, ok, want)
		}
	}
	list, err := gem.ReadCheckpoints(dir)
	if err != nil || len(list) != 2 || list[0].Name != "000002" || list[0].PolicyStep != 2 || list[0].Updates != 2 ||
		list[0].StatePath == list[1].StatePath ||
		list[1].Name != "000002-end" || list[1].PolicyStep != 2 || list[1].Updates != 3 || list[1].SamplerPath == "" {
		t.Errorf("checkpoints %+v, %v; want the state step 2 began with and the one it ended with, which the seed "+
			"would name alike", list, err)
	}
	if n := samplers(t, dir); n != 2 {
		t.Errorf("%d sampler checkpoints are left, want the last step's and the result", n)
	}
	again, other := t.TempDir(), t.TempDir()
	_, twice := gemRuns(t, playing(), short(again))
	same(t, "the same again", twice, lines)
	if _, differs := gemRuns(t, playing(),
		short(other,
			"seed=6")); differs[0].Metrics["sampler/token_entropy"] == lines[0].Metrics["sampler/token_entropy"] {
		t.Error("another seed samples the same")
	}
}

// samplers counts the sampler checkpoints on disk.
func samplers(t *testing.T, dir string) (n int) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, "tinker", "checkpoints", "*", "sampler_weights", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if st, err := os.Stat(f); err == nil && st.IsDir() {
			n++
		}
	}
	return n
}

// With wandb_project each step's samples are a table of its run.
func TestGemSamples(t *testing.T) {
	t.Parallel()
	dir, lines := gemRuns(t, playing(), short(t.TempDir(), "max_steps=2", "eval_every=0", "wandb_project=p"))
	tables, err := filepath.Glob(filepath.Join(dir, "monitor/wandb/gem/*/files/media/table/*.json"))
	if err != nil || len(lines) != 2 || len(tables) != 2 {
		t.Errorf("%d steps have the tables %v (%v)", len(lines), tables, err)
	}
}

// main_no_metrics of the seed: the same updates, nothing said, nothing saved on the way.
func TestGemWithoutMetrics(t *testing.T) {
	t.Parallel()
	unraced(t, "TestGem")
	_, want := gemRuns(t, playing(), short(t.TempDir()))
	dir, got := gemRuns(t, playing(), short(t.TempDir(), "metrics=False"))
	if len(got) != 3 || got[2].Metrics["train/loss:sum"] != want[2].Metrics["train/loss:sum"] {
		t.Errorf("%d lines, the last with loss %v; want 3, and loss %v", len(got), got[2].Metrics["train/loss:sum"],
			want[2].Metrics["train/loss:sum"])
	}
	if list, err := gem.ReadCheckpoints(dir); err != nil || len(list) != 1 {
		t.Errorf("checkpoints %+v, %v; want the one at the end", list, err)
	}
}

// After Ctrl-C at any step resume=latest continues, and the metrics are those of an unbroken run.
func TestGemInterruptAndResume(t *testing.T) {
	t.Parallel()
	_, want := gemRuns(t, playing(), short(t.TempDir()))
	dir := t.TempDir()
	for i := range 3 {
		stop := make(chan struct{})
		o := playing()
		o.Stop, o.Out = stop, &stopAt{stop: stop, text: fmt.Sprintf("Start training at step %d", i)}
		err := Gem(context.Background(), short(dir, "resume=latest"), o)
		if i < 2 && !errors.Is(err, ErrInterrupted) || i == 2 && err != nil && !errors.Is(err, ErrInterrupted) {
			t.Fatalf("start %d: %v", i, err)
		}
	}
	_, got := gemRuns(t, playing(), short(dir, "resume=latest"))
	same(t, "interrupted", got, want)
	if runs, err := os.ReadDir(dir); err != nil || len(runs) != 1 {
		t.Errorf("%d folders, %v; want one run", len(runs), err)
	}
	_, longer := gemRuns(t, playing(), short(dir, "resume=latest", "max_steps=4"))
	same(t, "then longer", longer[:3], want[:3])
	if len(longer) != 5 {
		t.Errorf("%d lines after a fourth step, want 5", len(longer))
	}
	err := Gem(context.Background(), short(dir, "resume=latest", "gamma=0.5"), playing())
	if err == nil || !strings.Contains(err.Error(), "gamma=0.9 and cannot continue with gamma=0.5") {
		t.Errorf("another gamma: %v, want a refusal", err)
	}
}

// gemJob starts a run of trinity gem, or continues it.
func gemJob(pairs ...string) startJob {
	return func(t testing.TB, dir string, o Options) ([]monitor.Line, error) {
		err := Gem(t.Context(), short(dir, append([]string{"resume=latest", "use_rebn=False"}, pairs...)...), o)
		if err != nil {
			return nil, err
		}
		runs, err := os.ReadDir(dir)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%d folders, %v; want one run", len(runs), err)
		}
		lines, err := monitor.ReadLog(filepath.Join(dir, runs[0].Name(), "metrics.jsonl"))
		return timeless(lines), err
	}
}

// Stopped anywhere and resumed, a run ends with the metrics of an unbroken one.
func TestGemSurvivesKills(t *testing.T) {
	t.Parallel()
	few := gemJob("max_steps=2", "save_every=1", "eval_every=1", "eval_episodes=2")
	survivesKills(t, playing(), 6, few)
	if !testing.Short() {
		survivesKills(t, onEngine(), 3, few)
	}
}

// A service that loses its models, and a server: a killed run goes back to the last state it saved, and trains again
// from the stored episodes.
func TestGemGoesBackToTheSavedState(t *testing.T) {
	t.Parallel()
	_, want := gemRuns(t, options(), short(t.TempDir(), "use_rebn=False"))
	o := options()
	o.Fleeting = forgets
	same(t, "unbroken", survivesKills(t, o, 6, gemJob()), want)
	o = options()
	o.LookupEnv = withKey
	survivesKills(t, o, 3, gemJob("model_name=examples/tiny/model", "base_url="+serve(t), "max_tokens=4",
		"num_env=8"))
}

func TestGemMethods(t *testing.T) {
	t.Parallel()
	unraced(t, "TestGem")
	_, base := gemRuns(t, playing(), short(t.TempDir()))
	for _, pairs := range [][]string{{"use_rebn=False"}, {"gamma=0.5"}, {"method=shuffled"},
		{"method=grpo", "group_size=4", "fork_turn=1"}} {
		_, got := gemRuns(t, playing(), short(t.TempDir(), pairs...))
		if got[0].Metrics["train/grad_norm"] == base[0].Metrics["train/grad_norm"] {
			t.Errorf("%v: the gradient is that of the defaults", pairs)
		}
	}
}

func TestGemRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, pairs := range map[string][]string{
		`the nearest is "game:GuessTheNumber-v0-easy"`: {"env_id=game:GuessTheNumber-v0-eazy"},
		`there is no wrapper "conkat"`:                 {"env_wrappers=conkat"},
		"no run in that folder":                        {"resume=" + dir},
		"did you mean max_steps?":                      {"max_step=3"},
		"is not a folder or GGUF file here":            {"model_name=./nowhere"},
	} {
		if err := Gem(context.Background(), append([]string{"output_dir=" + dir}, pairs...), playing()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", pairs, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("a refused run left %v, %v", left, err)
	}
}

// A run's last weights are evaluated; another model's do differently.
func TestGemEvaluation(t *testing.T) {
	t.Parallel()
	dir, lines := gemRuns(t, playing(), short(t.TempDir()))
	results, err := GemEvaluation{Run: dir}.Evaluate(context.Background(), playing())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := results[0].Return, lines[3].Metrics["eval/game:GuessTheNumber-v0-easy/return"]; math.Float64bits(
		got) != math.Float64bits(want) {
		t.Errorf("return %v, want that of the evaluation at the run's end, %v", got, want)
	}
	two, err := GemEvaluation{Random: true, Pairs: []string{"env_id=game:GuessTheNumber-v0-easy, " +
		"game:Mastermind-v0-easy", "eval_episodes=20"}}.Evaluate(context.Background(), playing())
	if err != nil || len(two) != 2 || two[1].EnvID != "game:Mastermind-v0-easy" || two[1].Episodes != 20 {
		t.Errorf("%+v, %v", two, err)
	}
	if data, err := json.Marshal(two); err != nil || !strings.Contains(string(data), `"return_se":`) {
		t.Errorf("JSON %s, %v", data, err)
	}
}
