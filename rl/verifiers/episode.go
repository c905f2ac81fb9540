package verifiers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// assembly collects the traces of an episode, as far as they are read here.
type assembly struct {
	traces map[string]*trace
	size   int // bytes of all deltas
}

// trace is the record of one agent in an episode.
type trace struct {
	id           string
	nodes, calls int
	errors       []any
	fields       map[string]any // as set last
}

func newAssembly() *assembly { return &assembly{traces: map[string]*trace{}} }

// apply takes up a delta of verifiers 0.4, which had size bytes.
func (a *assembly) apply(delta any, size int) error {
	if a.size += size; a.size > mostMessage {
		return fmt.Errorf("the deltas of an episode have more than %d MiB", mostMessage>>20)
	}
	m, _ := delta.(map[string]any)
	id, ok := m["trace"].(string)
	if !ok {
		return errors.New("a delta names no trace")
	}
	if gone, _ := m["discard"].(bool); gone {
		delete(a.traces, id)
		return nil
	}
	t := a.traces[id]
	if t == nil {
		t = &trace{id: id, fields: map[string]any{}}
		a.traces[id] = t
	}
	t.take(m)
	set, _ := m["set"].(map[string]any)
	maps.Copy(t.fields, set)
	return nil
}

// take adds the lists of a delta, or of a whole trace.
func (t *trace) take(m map[string]any) {
	count := func(name string) int { list, _ := m[name].([]any); return len(list) }
	t.nodes, t.calls = t.nodes+count("nodes"), t.calls+count("calls")
	list, _ := m["errors"].([]any)
	t.errors = append(t.errors, list...)
}

// finish makes the parts of an episode, of the answer to its run.
func (a *assembly) finish(answer any) ([]workflow.Part, error) {
	m, ok := answer.(map[string]any)
	if !ok {
		return nil, errors.New("the answer is no map")
	}
	if done, _ := m["success"].(bool); !done {
		return nil, fmt.Errorf("the server failed: %s", textOf(m["error"]))
	}
	head, list, err := a.episode(m)
	if err != nil {
		return nil, err
	}
	if good, _ := head["ok"].(bool); !good {
		return nil, failureOf(head, list)
	}
	return partsOf(list)
}

// episode is the episode without its traces, and they: all in the answer (0.3), or as they came before it (0.4).
func (a *assembly) episode(m map[string]any) (head map[string]any, list []*trace, err error) {
	if head, whole := m["episode"].(map[string]any); whole {
		traces, _ := head["traces"].([]any)
		for _, one := range traces {
			fields, _ := one.(map[string]any)
			t := &trace{id: textOf(fields["id"]), fields: fields}
			t.take(fields)
			list = append(list, t)
		}
		return head, list, nil
	}
	head, ok := m["head"].(map[string]any)
	if !ok {
		return nil, nil, errors.New("the answer has no episode; verifiers 0.3 and newer send one")
	}
	summaries, _ := m["traces"].([]any)
	for _, one := range summaries {
		s, _ := one.(map[string]any)
		t := a.traces[textOf(s["id"])]
		if t == nil || int64(t.nodes) != s["nodes"] || int64(t.calls) != s["calls"] {
			return nil, nil, fmt.Errorf("the trace %q did not come whole", textOf(s["id"]))
		}
		list = append(list, t)
	}
	return head, list, nil
}

// failureOf says why an episode is not ok.
func failureOf(head map[string]any, list []*trace) error {
	errs, _ := head["errors"].([]any)
	var texts []string
	for _, e := range slices.Concat(errs, errorsOf(list)) {
		m, _ := e.(map[string]any)
		if text := fmt.Sprintf("%s: %s", textOf(m["type"]), textOf(m["message"])); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		texts = []string{"it names no error"}
	}
	return fmt.Errorf("the episode failed: %s", strings.Join(texts, "; "))
}

func errorsOf(list []*trace) (all []any) {
	for _, t := range list {
		all = append(all, t.errors...)
	}
	return all
}

// partsOf are the traces that are trained.
func partsOf(list []*trace) (parts []workflow.Part, err error) {
	for _, t := range list {
		agent, _ := t.fields["agent"].(map[string]any)
		if trains, is := agent["trainable"].(bool); is && !trains {
			continue
		}
		if good, is := t.fields["ok"].(bool); is && !good {
			return nil, failureOf(nil, []*trace{t})
		}
		part, err := t.part()
		if err != nil {
			return nil, fmt.Errorf("the trace of the agent %s: %w", textOf(agent["name"]), err)
		}
		parts = append(parts, part)
	}
	switch {
	case len(parts) == 0:
		return nil, errors.New("no agent of the episode is trainable")
	case len(list) == 1:
		parts[0].Session = "" // all calls are its own
	}
	return parts, nil
}

// part is the reward of a trace, with its metrics.
func (t *trace) part() (workflow.Part, error) {
	p := workflow.Part{Session: t.id, Metrics: map[string]float64{}}
	rewards, _ := t.fields["rewards"].(map[string]any)
	if len(rewards) == 0 {
		return p, errors.New("it has no reward; the environment must record one")
	}
	for _, name := range slices.Sorted(maps.Keys(rewards)) {
		r, is := rewards[name].(map[string]any)
		score, scored := number(r["score"])
		if !is || !scored {
			return p, fmt.Errorf("its reward %s was not scored", name)
		}
		weight, given := number(r["weight"])
		if !given {
			weight = 1
		}
		p.Reward += float64(score * weight)
		p.Metrics["reward/"+name] = score
	}
	metrics, _ := t.fields["metrics"].(map[string]any)
	for name, v := range metrics {
		if x, is := number(v); is {
			p.Metrics[name] = x
		}
	}
	return p, nil
}

// number reads a number, or a truth value as 1 or 0.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func textOf(v any) string {
	if s, is := v.(string); is {
		return s
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
