package journal

import (
	"testing"
	"time"
)

// By default a model computes 20 times as long as its last snapshot took, and at least 30 seconds; a time that is given
// holds.
func TestSnapshotsAreWorthTheirTime(t *testing.T) {
	for _, c := range []struct {
		after, took, compute time.Duration
		want                 bool
	}{
		{0, 0, 29 * time.Second, false},
		{0, 0, 31 * time.Second, true},
		{0, 4 * time.Second, 79 * time.Second, false},
		{0, 4 * time.Second, 81 * time.Second, true},
		{time.Second, 4 * time.Second, 2 * time.Second, true},
	} {
		j := &Journal{opts: Options{SnapshotAfter: c.after}.withDefaults()}
		m := &trainingClient{j: j, compute: c.compute, took: c.took}
		if got := m.due(); got != c.want {
			t.Errorf("after %v of computing, the last snapshot took %v: due is %v", c.compute, c.took, got)
		}
	}
}
