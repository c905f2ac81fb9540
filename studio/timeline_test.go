package studio

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/studio/curve"
)

// An evaluation counts once: where the trainer waited for it, or outside the step. The parts are no longer than it.
func TestEvaluationCountsOnce(t *testing.T) {
	in := func(name string, seconds float64) part { return part{Name: name, Seconds: seconds} }
	after := part{Name: "evaluate", Seconds: 5, Outside: true}
	for name, c := range map[string]struct {
		seconds map[string]float64
		want    []part
	}{
		"before the samples": {
			map[string]float64{"total": 12, "sample": 9, "waiting": 9, "explore": 4.1, "evaluate": 5, "train": 2},
			[]part{in("sample", 4), in("train", 2), in("evaluate", 5), in("other", 1)}},
		"after the last step": {
			map[string]float64{"total": 8, "sample": 4, "waiting": 4, "explore": 4, "evaluate": 5, "train": 4},
			[]part{in("sample", 4), in("train", 4), after}},
		"longer than the waiting": {
			map[string]float64{"total": 8, "sample": 4, "waiting": 4, "evaluate": 5, "train": 4},
			[]part{in("sample", 4), in("train", 4), after}},
		"part of the total": {
			map[string]float64{"total": 9, "sample": 4, "evaluate": 3, "train": 2},
			[]part{in("sample", 4), in("train", 2), in("evaluate", 3)}},
		"alone": {map[string]float64{"evaluate": 7}, []part{in("evaluate", 7)}},
		"sampling beside training": {map[string]float64{"total": 9, "sample": 8, "train": 3},
			[]part{in("sample", 6), in("train", 3)}},
	} {
		if got := partsOfStep(c.seconds); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A step of the shipped job takes as long as its metrics say.
func TestTimelineOfJob(t *testing.T) {
	log := curve.Open(filepath.Join("web", "testdata", "job", "metrics.jsonl"), "step")
	if _, err := log.Refresh(); err != nil {
		t.Fatal(err)
	}
	steps, totals := log.Series("time/step")
	_, saves := log.Series("time/save_checkpoint")
	saved := 0
	for i, s := range spans(log, 1, math.MaxInt) {
		sum, publish := 0.0, 0.0
		for _, p := range s.Parts {
			if !p.Outside {
				sum += p.Seconds
			}
			if p.Name == "publish" {
				publish = p.Seconds
			}
		}
		if s.Step != steps[i] || math.Abs(sum-totals[i]) > 1e-6 {
			t.Errorf("step %d is %.3f s long, want %.3f in step %d", s.Step, sum, totals[i], steps[i])
		}
		if saved < len(saves) && publish > saves[saved] && s.Step%10 == 0 {
			saved++
		}
	}
	if saved != len(saves) {
		t.Errorf("%d of %d checkpoints count", saved, len(saves))
	}
}

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
	want := [][]part{{{"sample", 4.5, false}, {"grade", 1.5, false}, {"train", 3, false}, {"other", 1, false}},
		{{"sample", 6, false}, {"train", 3, false}, {"other", 1, false}}}
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
