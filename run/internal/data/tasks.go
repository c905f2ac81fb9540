// Package data opens what a configuration trains and evaluates on: the rows of its tasksets with their workflows and
// rewards, and the examples of sft, dpo and experts.
package data

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// Tasks deals the rows of one or several data sets out as tasks, the same ones whenever a step is asked for.
type Tasks struct {
	sets []taskRows
	eval bool

	mu     sync.Mutex
	mix    *dataset.Mix    // of the training sets; nil when there is one that is read in order
	reader *dataset.Reader // of the one set otherwise, or else:
	table  *taskTable      // the one set, in a database
	states map[int][]byte  // of an adaptive mix, before each step that is not trained yet
}

// taskRows are the rows of one data set and how they are read and run.
type taskRows struct {
	rows     *dataset.Source
	added    func() error // looks for rows that were added; nil for files
	format   dataset.Format
	name     string
	config   *config.Taskset
	key      string
	variants map[string]int // by names of workflow and reward; "" is the set's own
}

// Batch implements explorer.Tasks. An evaluation gives all rows at once.
func (t *Tasks) Batch(step, n int) ([]workflow.Task, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	picks, err := t.picks(step, n)
	if err != nil {
		return nil, err
	}
	list := make([]workflow.Task, len(picks))
	for i, p := range picks {
		set := &t.sets[p.Taskset]
		task, err := set.format.Task(set.rows, p.Item)
		if err != nil {
			return nil, err
		}
		way, known := set.variants[variant(set.config, task)]
		if !known {
			return nil, fmt.Errorf("run: %s was added while the run was under way, and names a workflow or reward "+
				"that no row before it names; start again", set.rows.Place(p.Index))
		}
		list[i] = workflow.Task{Index: task.Index, Prompt: task.Prompt, Truth: task.Truth, Row: task.Row,
			Taskset: p.Taskset, Variant: way}
	}
	return list, nil
}

func (t *Tasks) picks(step, n int) ([]dataset.Pick, error) {
	if t.mix != nil {
		if t.states != nil {
			data, err := json.Marshal(t.mix.States(step))
			if err != nil {
				return nil, err
			}
			t.states[step] = data
		}
		return t.mix.Batch(step)
	}
	if t.table != nil {
		return t.table.picks(step, n)
	}
	if t.eval {
		step, n = 1, t.sets[0].rows.Len()
	}
	if err := t.reader.Restore(dataset.State{CurrentIndex: (step - 1) * n}); err != nil {
		return nil, err
	}
	items, err := t.reader.Next()
	picks := make([]dataset.Pick, len(items))
	for i, it := range items {
		picks[i].Item = it
	}
	return picks, err
}

// Learn implements explorer.Learner.
func (t *Tasks) Learn(_ int, rates []dataset.Rate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mix != nil {
		t.mix.Learn(rates)
	}
}

// Before is the state of the sets before a step, as explorer_meta.json has it. It forgets the states of earlier steps.
func (t *Tasks) Before(step, batch int) (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.states {
		if s < step {
			delete(t.states, s)
		}
	}
	switch {
	case t.states[step] != nil:
		return t.states[step], nil
	case t.mix != nil:
		return json.Marshal(t.mix.States(step))
	}
	return json.Marshal([]dataset.State{{CurrentIndex: (step - 1) * batch}})
}

// Adaptive reports whether the choice of tasks learns from how earlier ones went.
func (t *Tasks) Adaptive() bool { return t.states != nil }

// Restore brings back what an adaptive choice had learned.
func (t *Tasks) Restore(state []byte) error { return t.mix.Restore(state) }

// Set returns the taskset that a task comes from, and its place in the configuration.
func (t *Tasks) Set(i int) (conf *config.Taskset, key string) { return t.sets[i].config, t.sets[i].key }

// Rows is how many rows the tasks come from.
func (t *Tasks) Rows() (n int) {
	for _, set := range t.sets {
		n += set.rows.Len()
	}
	return n
}

// variant names the workflow and the reward that a row asks for; "" is the taskset's own.
func variant(t *config.Taskset, task dataset.Task) string {
	w, r := cmp.Or(task.Workflow, t.DefaultWorkflowType), cmp.Or(task.RewardFn, t.DefaultRewardFnType)
	if w == t.DefaultWorkflowType && r == t.DefaultRewardFnType {
		return ""
	}
	return w + " " + r
}
