package sandbox

import (
	"os"
	"testing"
	"time"
)

// A program's own time is what it computes and waits. A busy machine does not add to it.
func TestOwnTime(t *testing.T) {
	type look struct {
		elapsed, cpu float64
		ready        bool
	}
	for name, c := range map[string]struct {
		looks []look
		want  float64
	}{
		"it computes":                 {[]look{{1, 1, true}, {2, 2, true}}, 2},
		"it sleeps":                   {[]look{{1, 0.25, false}, {2, 0.25, false}}, 2},
		"it has half of a processor":  {[]look{{1, 0.5, true}, {2, 1, true}}, 1},
		"it has nothing, then sleeps": {[]look{{8, 0.25, true}, {9, 0.25, false}}, 1.25},
		"two processes compute":       {[]look{{1, 2, true}, {2, 4, true}}, 2},
		"two processes have a half":   {[]look{{1, 1, true}, {2, 2, true}}, 2},
	} {
		seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
		var o ownTime
		var got time.Duration
		for _, l := range c.looks {
			got = o.after(seconds(l.elapsed), usage{cpu: seconds(l.cpu), ready: l.ready})
		}
		if got != seconds(c.want) {
			t.Errorf("%s: its own time is %v, want %vs", name, got, c.want)
		}
	}
}

// A process whose first thread waits computes all the same if another thread does, as this test's.
func TestThreadComputes(t *testing.T) {
	if !threadComputes(os.Getpid()) {
		t.Error("no thread of this process runs")
	}
	if threadComputes(-1) {
		t.Error("a process that is not there computes")
	}
}
