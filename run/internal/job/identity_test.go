package job

import (
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// What changed since the last start is named, without what follows from it, and without addresses.
func TestChangedSettings(t *testing.T) {
	before := map[string]source.Setting{}
	for _, s := range []source.Setting{
		{Key: "algorithm.optimizer.lr", Value: 0.0005}, {Key: "buffer.batch_size", Value: 16.0},
		{Key: "buffer.train_batch_size", Value: 128.0}, {Key: "buffer.path", Value: "postgres://me:secret@here"},
		{Key: "monitor.monitor_args.api_key", Value: "old"}, {Key: "trainer.name", Value: "trainer"},
		{Key: "trainer.trainer_strategy", Value: "fsdp", Origin: "default"}} {
		before[s.Key] = s
	}
	got := changedSettings(before, []source.Setting{{Key: "algorithm.optimizer.lr", Value: 0.001, Origin: "run.yaml:3"},
		{Key: "buffer.batch_size", Value: 8, Origin: "override"},
		{Key: "buffer.train_batch_size", Value: 64, Origin: "derived: x"},
		{Key: "buffer.path", Value: "postgres://me:other@here"}, {Key: "monitor.monitor_args.api_key", Value: "new"},
		{Key: "trainer.name", Value: "trainer"}, {Key: "trainer.new", Value: 3},
		{Key: "trainer.trainer_strategy", Value: "fsdp2", Origin: "default"}})
	want := []string{"algorithm.optimizer.lr 0.0005 → 0.001", "buffer.batch_size 16 → 8", "buffer.path"}
	if !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
}
