package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// async is a run with two explore steps under way at a time.
var async = and(tiny, "synchronizer.sync_style=fully_async", "buffer.total_steps=6", "trainer.total_steps=6")

// filtered drops groups whose rewards are equal, so that explore steps feed less than a train step.
var filtered = operatorsOf("{name: reward_std_filter}")

// tooOld trains on nothing that is older than a train step: most of what steps that overlap sample is passed over.
var tooOld = []string{"algorithm.sample_strategy=staleness_control",
	"algorithm.sample_strategy_args={max_staleness: 1}"}

// versions are those that the steps of metrics sampled with.
func versions(lines []monitor.Line) (list []int) {
	for _, l := range lines {
		if v, ok := l.Metrics["rollout/model_version"]; ok {
			list = append(list, int(v))
		}
	}
	return list
}

// Explore steps sample with what the rule names, at any number under way.
func TestFullyAsyncVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		window, interval int
		want             []int
	}{
		{1, 1, []int{0, 0, 1, 2, 3, 4}},
		{2, 1, []int{0, 0, 0, 1, 2, 3}},
		{2, 2, []int{0, 0, 0, 0, 2, 2}},
		{3, 2, []int{0, 0, 0, 0, 0, 2}},
	} {
		args := and(async, fmt.Sprint("explorer.max_inflight_batches=", tt.window),
			fmt.Sprint("synchronizer.trainer_sync_interval=", tt.interval))
		got := versions(runs(t, load(t, t.TempDir(), args...), options()))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d at a time, published every %d: versions %v, want %v", tt.window, tt.interval, got, tt.want)
		}
	}
}

// Samples that will be too old are told before the run, and those that are passed over do not stop it. A selector that
// learns from each step is refused.
func TestFullyAsyncNotes(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	o := options()
	o.Out = &out
	sum, err := Run(t.Context(), load(t, t.TempDir(), and(async, tooOld...)...), o)
	if err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "max_inflight_batches 2 and trainer_sync_interval 1") ||
		len(sum.Lines) == 0 || len(sum.Lines) == 6 {
		t.Errorf("%d lines; it said\n%s", len(sum.Lines), text)
	}
	learns := and(two(t, "difficulty_based"), "synchronizer.sync_style=fully_async")
	_, err = Run(t.Context(), load(t, t.TempDir(), learns...), o)
	if err == nil || !strings.Contains(err.Error(), "set explorer.max_inflight_batches: 1") {
		t.Errorf("difficulty_based: %v", err)
	}
	runs(t, load(t, t.TempDir(), and(learns, "explorer.max_inflight_batches=1")...), options())
}

// Killed anywhere, a run with several explore steps under way ends with the bits of an unbroken one: with the trainer's
// queue and with a table between the loops, when groups are dropped, and on a service that loses its models.
func TestFullyAsyncSurvivesKills(t *testing.T) {
	t.Parallel()
	fleeting := options()
	fleeting.Fleeting = forgets
	for _, tt := range []struct {
		name string
		o    Options
		args []string
	}{
		{"queue", options(), nil},
		{"three at a time", options(), []string{"explorer.max_inflight_batches=3",
			"synchronizer.trainer_sync_interval=2"}},
		{"filtered", options(), []string{filtered, "algorithm.repeat_times=3", "buffer.train_batch_size=3"}},
		{"table", options(), []string{betweenTable}},
		{"filtered table", options(), []string{betweenTable, filtered, "algorithm.repeat_times=3",
			"buffer.train_batch_size=3"}},
		{"stale", options(), tooOld},
		{"replay buffer", options(), []string{replayed, "buffer.train_batch_size=3"}},
		{"fleeting", fleeting, []string{"trainer.save_interval=2"}},
		{"evaluated", options(), []string{few, "explorer.eval_interval=2"}},
		{"enough tasks", options(), []string{"explorer.over_rollout={ratio: 0.5, return_partial_tasks: true}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			survivesKills(t, tt.o, 2, jobWith(and(async, tt.args...)...))
		})
	}
}

// The two loops may have intervals of their own, and mode bench evaluates what a run of the style saved.
func TestFullyAsyncBeside(t *testing.T) {
	t.Parallel()
	uneven := and(tiny, "buffer.total_steps=8", "trainer.total_steps=8", "synchronizer.explorer_sync_interval=2",
		"synchronizer.trainer_sync_interval=3", "synchronizer.sync_offset=0")
	got := versions(runs(t, load(t, t.TempDir(), uneven...), options()))
	if want := []int{0, 0, 0, 0, 3, 3, 6, 6}; !slices.Equal(got, want) {
		t.Errorf("intervals 2 and 3: versions %v, want %v", got, want)
	}
	dir := t.TempDir()
	runs(t, load(t, dir, and(async, few)...), options())
	runs(t, load(t, dir, and(async, few, "mode=bench")...), options())
}

// A run on a server gives the bits of a run in this process, killed or not.
func TestFullyAsyncOnServer(t *testing.T) {
	t.Parallel()
	want := runs(t, load(t, t.TempDir(), async...), options())
	o := options()
	o.LookupEnv = withKey
	same(t, "on a server", survivesKills(t, o, 3, jobWith(and(async, "model.tinker.base_url="+serve(t))...)), want)
}

// Killed anywhere, a run in style newest samples each step with the version that was chosen first, once.
func TestNewestRepeatsItsChoices(t *testing.T) {
	t.Parallel()
	args := and(async, "synchronizer.sync_style=newest")
	count, o := &disktest.Crash{}, options()
	o.FS = count
	runs(t, load(t, disktest.TempDir(t), args...), o)
	for turn, at := range stops(6, count.Count()) {
		dir := disktest.TempDir(t)
		crash := &disktest.Crash{At: at, PowerLoss: turn%2 == 0, NamesStay: true}
		o.FS = crash
		if _, err := Run(t.Context(), load(t, dir, args...), o); err != nil && !errors.Is(err, disktest.ErrCrash) {
			t.Fatal(err)
		}
		crash.Now()
		o.FS = crash.Next()
		sampledAsChosen(t, fmt.Sprint("killed at ", at), dir, runs(t, load(t, dir, args...), o))
	}
}

// sampledAsChosen compares the steps with the version that was written down for each, which there must be once.
func sampledAsChosen(t *testing.T, what, dir string, lines []monitor.Line) {
	t.Helper()
	order, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "log", "order.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[int]int{}
	for line := range bytes.Lines(order) {
		var e synchronizer.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if _, twice := chosen[e.Step]; twice || e.Event != synchronizer.Sampled {
			t.Errorf("%s, the order has %s", what, line)
		}
		chosen[e.Step] = e.Version
	}
	for _, l := range lines {
		if v := int(l.Metrics["rollout/model_version"]); v != chosen[l.Step] {
			t.Errorf("%s, step %d sampled with version %d, chosen was %d", what, l.Step, v, chosen[l.Step])
		}
	}
}
