package studio

import (
	"math"
	"net/http"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/studio/curve"
)

// part is a part of a step's time.
type part struct {
	Name    string  `json:"name"` // sample, grade, train, publish, evaluate or other
	Seconds float64 `json:"seconds"`
	Outside bool    `json:"outside,omitempty"` // the step's own time does not have it: beside the step or after it
}

// span is a step on the timeline.
type span struct {
	Step  int      `json:"step"`
	Start *float64 `json:"start"` // Unix seconds; null if it is not known
	Parts []part   `json:"parts"`
}

// timed are the metrics of each part: the first that a run has counts. What samples and trains at the same time
// overlaps in the run; here the trainer's view is shown, in which it waits for samples. Where the time of grading is
// known for tasks and not for steps, see graded.
var timed = []struct {
	part    string
	metrics []string
}{
	{"sample", []string{"time/read_experience", "time/sample", "time/sampling", "time/explore",
		"rollout/time/task_execution/max"}},
	{"grade", []string{"time/grade", "time/reward"}},
	{"train", []string{"time/train_step", "time/train"}},
	{"publish", nil}, // published
	{"evaluate", []string{"time/eval", "time/evaluation", "time/run_evals"}},
}

// published are the metrics of publishing and saving weights, which add up.
var published = []string{"time/sync_weight", "time/save_checkpoint", "time/save"}

// waiting is the time that a trainer waited for samples, which has an evaluation before them in it.
const waiting = "time/read_experience"

// maxSpans is how many steps a timeline has; from and to choose others.
const maxSpans = 2000

// timeline is GET /api/runs/{run}/timeline.
func (s *Studio) timeline(e *entry, w http.ResponseWriter, r *http.Request) error {
	q := asked{values: r.URL.Query()}
	from, to := q.int("from", 0), q.int("to", math.MaxInt)
	if q.err != nil {
		return q.err
	}
	e.touch()
	list := spans(e.curves(), from, to)
	clock := e.times()
	for i := range list {
		if end, ok := clock[list[i].Step]; ok {
			start := float64(end.UnixMilli()) / 1000
			for _, p := range list[i].Parts {
				start -= p.Seconds
			}
			list[i].Start = &start
		}
	}
	return answer(w, map[string]any{"steps": list})
}

// spans are the last steps between two.
func spans(log *curve.Log, from, to int) []span {
	at := map[int]map[string]float64{}
	order := []int{}
	add := func(name, metric string) {
		steps, values := log.Series(metric)
		for i, step := range steps {
			if step < from || step > to {
				continue
			}
			if at[step] == nil {
				at[step] = map[string]float64{}
				order = append(order, step)
			}
			at[step][name] = values[i]
		}
	}
	add("total", log.First("time/step", "time/total"))
	for _, p := range timed {
		metric := log.First(p.metrics...)
		add(p.part, metric)
		if metric == waiting {
			add("waiting", waiting)
			add("explore", log.First("time/wait_explore_step"))
		}
	}
	for _, metric := range published {
		add(metric, metric)
	}
	add("task", log.First("rollout/time/run_execution/mean", "time/episode"))
	add("graded", log.First("rollout/time/grade/mean", "time/environment"))
	slices.Sort(order)
	list := []span{}
	for _, step := range order[max(0, len(order)-maxSpans):] {
		list = append(list, span{Step: step, Parts: partsOfStep(at[step])})
	}
	return list
}

// partsOfStep are the parts of a step, and what is left of it.
func partsOfStep(seconds map[string]float64) []part {
	for _, metric := range published {
		seconds["publish"] += seconds[metric]
	}
	outside := placeEvaluation(seconds)
	graded(seconds)
	parts := []part{}
	sum := 0.0
	for _, p := range timed {
		if v, ok := seconds[p.part]; ok && v > 0 {
			parts = append(parts, part{Name: p.part, Seconds: v})
			sum += v
		}
	}
	if rest := seconds["total"] - sum; rest > 0 {
		parts = append(parts, part{Name: "other", Seconds: rest})
	}
	if outside > 0 {
		parts = append(parts, part{Name: "evaluate", Seconds: outside, Outside: true})
	}
	return parts
}

// placeEvaluation takes the evaluation out of the waiting for samples that it was part of, cuts the parts to the step's
// time, and returns how much of the evaluation is not in it: that of a run's last weights follows their step, and an
// explorer that is ahead evaluates while the trainer trains.
func placeEvaluation(seconds map[string]float64) (outside float64) {
	total, known := seconds["total"]
	if !known {
		return 0
	}
	all := seconds["evaluate"]
	if waited, ok := seconds["waiting"]; ok {
		in := min(all, waited)
		explored, ok := seconds["explore"]
		if more := max(0, waited-explored); ok && more < all/2 { // else it is, and exploring began before the waiting
			in = min(in, more)
		} else if !ok && all > waited {
			in = 0
		}
		seconds["sample"], seconds["evaluate"] = waited-in, in
	}
	over := -total
	for _, p := range timed {
		over += seconds[p.part]
	}
	for _, p := range []string{"evaluate", "sample", "grade", "publish", "train"} { // what may overlap comes first
		if cut := min(seconds[p], over); cut > 0 {
			seconds[p] -= cut
			over -= cut
		}
	}
	return all - seconds["evaluate"]
}

// graded tells grading from sampling where a run knows how long its tasks took and were graded: many tasks are under
// way at a time, so the step's time is divided as theirs is.
func graded(seconds map[string]float64) {
	task, grade := seconds["task"], seconds["graded"]
	if _, ok := seconds["grade"]; ok || task <= 0 || grade <= 0 {
		return
	}
	seconds["grade"] = seconds["sample"] * min(1, grade/task)
	seconds["sample"] -= seconds["grade"]
}
