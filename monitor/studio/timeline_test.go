package studio

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor/studio/curve"
)

// A step's waiting for samples is divided as the time of its tasks is; what is measured for steps stays.
func TestGrading(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	lines := `{"step":1,"time/step":10,"time/read_experience":6,"time/train_step":3,` +
		`"rollout/time/run_execution/mean":2,"rollout/time/grade/mean":0.5}` + "\n" +
		`{"step":2,"time/step":10,"time/read_experience":6,"time/train_step":3}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	log := curve.Open(path, "step")
	if _, err := log.Refresh(); err != nil {
		t.Fatal(err)
	}
	want := [][]part{{{"sample", 4.5}, {"grade", 1.5}, {"train", 3}, {"other", 1}},
		{{"sample", 6}, {"train", 3}, {"other", 1}}}
	for i, s := range spans(log, 0, 9) {
		if !slices.Equal(s.Parts, want[i]) {
			t.Errorf("step %d has %v, want %v", s.Step, s.Parts, want[i])
		}
	}
	own := map[string]float64{"sample": 6, "grade": 1, "task": 2, "graded": 1}
	if graded(own); own["sample"] != 6 || own["grade"] != 1 {
		t.Errorf("a step's own times became %v", own)
	}
}
