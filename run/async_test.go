package run

import (
	"fmt"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// async is a run with two explore steps under way at a time.
var async = and(tiny, "synchronizer.sync_style=fully_async", "buffer.total_steps=6", "trainer.total_steps=6")

// filtered drops groups whose rewards are equal, so that explore steps feed less than a train step.
var filtered = operatorsOf("{name: reward_std_filter}")

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
		if got := versions(runs(t, load(t, t.TempDir(), args...), options())); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%d steps at a time, published every %d: versions %v, want %v", tt.window, tt.interval, got, tt.want)
		}
	}
}

// Killed anywhere, a run with several explore steps under way ends with the bits of an unbroken one: with the trainer's
// queue and with a table between the loops, when groups are dropped, and on a service that loses its models.
func TestFullyAsyncSurvivesKills(t *testing.T) {
	t.Parallel()
	fleeting := options()
	fleeting.Fleeting = forgets
	for _, tt := range []struct {
		name  string
		o     Options
		every int
		args  []string
	}{
		{"queue", options(), 5, nil},
		{"three at a time", options(), 41, []string{"explorer.max_inflight_batches=3", "synchronizer.trainer_sync_interval=2"}},
		{"filtered", options(), 23, []string{filtered, "algorithm.repeat_times=3", "buffer.train_batch_size=3"}},
		{"table", options(), 41, []string{betweenTable}},
		{"filtered table", options(), 61, []string{betweenTable, filtered, "algorithm.repeat_times=3",
			"buffer.train_batch_size=3"}},
		{"fleeting", fleeting, 41, []string{"trainer.save_interval=2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			survivesKills(t, tt.o, tt.every, jobWith(and(async, tt.args...)...))
		})
	}
}
