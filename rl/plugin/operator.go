package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// OperatorsOf are the operators by their names. judges are the auxiliary models that they may ask, with their names.
func (s *Set) OperatorsOf(judges func() ([]workflow.Judge, []string)) map[string]pipeline.Make {
	out := map[string]pipeline.Make{}
	for name := range s.Operators {
		out[name] = func(args map[string]any) (pipeline.Operator, error) {
			return &operator{set: s, name: name, args: args, judges: judges}, nil
		}
	}
	return out
}

// operator is an operator of Python. Its state lives in one process; if that is lost, it begins anew.
type operator struct {
	set     *Set
	name    string
	args    map[string]any
	judges  func() ([]workflow.Judge, []string)
	session *python.Session
}

// Process implements pipeline.Operator.
func (o *operator) Process(ctx context.Context, list []*experience.Experience) ([]*experience.Experience,
	map[string]float64, error) {
	var out struct {
		Experiences []returned              `json:"experiences"`
		Metrics     map[string]python.Float `json:"metrics"`
	}
	given := make([]answer, len(list))
	for i, e := range list {
		given[i] = stored(e, i)
	}
	judges, names := o.judges()
	var cards []map[string]any
	for _, n := range names {
		cards = append(cards, map[string]any{"model_path": n, "name": n})
	}
	args := map[string]any{"name": o.name, "args": o.args, "place": fmt.Sprintf("%p", o), "experiences": given,
		"auxiliary": cards}
	seed := uint64(len(list))
	if len(list) > 0 {
		seed = uint64(list[0].Info.Seed)
	}
	up := func() python.Up {
		draws := rng.New(seed).Stream("operator " + o.name)
		return func(ctx context.Context, name string, raw json.RawMessage) (any, error) {
			return o.up(ctx, name, raw, judges, &draws)
		}
	}
	if err := o.persist(python.WithTask(ctx, "operator "+o.name), args, &out, up); err != nil {
		return nil, nil, failed("operator "+o.name, err, nil)
	}
	kept := make([]*experience.Experience, len(out.Experiences))
	for i := range out.Experiences {
		e, err := changed(list, &out.Experiences[i])
		if err != nil {
			return nil, nil, failed("operator "+o.name, fmt.Errorf("experience %d that it returned: %w", i, err), nil)
		}
		kept[i] = e
	}
	metrics := map[string]float64{}
	for k, v := range out.Metrics {
		metrics[k] = float64(v)
	}
	return kept, metrics, nil
}

// attempts is how often an operator is called when its process is lost; others may end the process too.
const attempts = 3

// persist calls the operator, and again when its process was lost. up makes the callback of one attempt.
func (o *operator) persist(ctx context.Context, args, result any, up func() python.Up) (err error) {
	for range attempts {
		err = o.call(ctx, args, result, up())
		if !errors.As(err, new(*python.Lost)) || errors.Is(err, python.ErrClosed) {
			return err
		}
	}
	return err
}

// call calls the operator where it lives.
func (o *operator) call(ctx context.Context, args, result any, up python.Up) error {
	if o.session == nil {
		s, err := o.set.host.Session(ctx)
		if err != nil {
			return err
		}
		o.session = s
	}
	err := o.session.Call(ctx, "operator.run", args, result, up)
	var lost *python.Lost
	if errors.As(err, &lost) {
		o.session.Close()
		o.session = nil
	}
	return err
}

// up answers calls back: to rewards, and to auxiliary models.
func (o *operator) up(ctx context.Context, name string, raw json.RawMessage, judges []workflow.Judge,
	draws *rng.Stream) (any, error) {
	if name != "judge.chat" {
		return builtin(ctx, name, raw)
	}
	var a struct {
		Model    int             `json:"model"`
		Messages json.RawMessage `json:"messages"`
		Params   params          `json:"params"`
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, err
	}
	return askJudge(ctx, judges, a.Model, a.Messages, &a.Params, draws)
}

// stored is an experience as an operator gets it.
func stored(e *experience.Experience, i int) answer {
	a := answer{Ref: i, Tokens: e.Tokens, Logprobs: e.Logprobs, Mask: e.ActionMask, Prompt: e.PromptLength,
		Text: e.PromptText, Heard: e.ResponseText, Truncate: string(e.TruncateStatus),
		EID: map[string]any{"batch": e.EID.Batch, "task": e.EID.Task, "run": e.EID.Run, "step": e.EID.Step,
			"suffix": e.EID.Suffix},
		Metrics: map[string]python.Float{}, Info: map[string]any{"model_version": e.Info.ModelVersion, "use_count": 0,
			"task_index": map[string]int{"index": e.Info.TaskIndex, "taskset_id": e.Info.TasksetID}}}
	if e.Reward != nil {
		v := python.Float(*e.Reward)
		a.Reward = &v
	}
	for k, v := range e.Metrics {
		a.Metrics[k] = python.Float(v)
	}
	if e.MessagesJSON != "" {
		a.Messages = json.RawMessage(e.MessagesJSON)
	}
	return a
}

// changed is an experience of the list with the operator's changes: reward, mask and metrics.
func changed(list []*experience.Experience, x *returned) (*experience.Experience, error) {
	if x.Ref == nil || *x.Ref < 0 || *x.Ref >= len(list) {
		return nil, errors.New("it is new; an operator here drops, reorders and repeats experiences, and changes " +
			"their reward, action_mask and metrics")
	}
	e := list[*x.Ref].Clone()
	r := &record{prompt: e.Tokens[:e.PromptLength], sampled: e.Response(), logprobs: e.Logprobs, heard: e.ResponseText}
	if err := r.unchanged(x); err != nil {
		return nil, err
	}
	if x.Mask != nil && len(x.Mask) != len(e.ActionMask) {
		return nil, fmt.Errorf("its action_mask has %d entries for %d tokens of the answer", len(x.Mask),
			len(e.ActionMask))
	}
	for i, on := range x.Mask {
		e.ActionMask[i] = e.ActionMask[i] && on
	}
	e.Reward = nil
	if x.Reward != nil {
		e.SetReward(float64(*x.Reward))
	}
	metrics := map[string]float64{}
	for k, v := range x.Metrics {
		metrics[k] = float64(v)
	}
	maps.Copy(metrics, rare(e.Metrics))
	e.Metrics = metrics
	return e, nil
}

// rare are the metrics that the loops count.
func rare(m map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for _, k := range []string{workflow.OutOfRoom, workflow.NewSequences} {
		if v, ok := m[k]; ok {
			out[k] = v
		}
	}
	return out
}
