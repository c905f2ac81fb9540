package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// lacks reports whether a request has to be replayed.
func (m *trainingClient) lacks(seq int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return seq > m.applied && !m.gone
}

// replay sends the requests that the snapshots do not include to the machine again, in the order of the log. Deletions
// are not repeated: each was executed before it was logged, and the log has the results of all saves that were answered
// before it, so that these are not repeated either.
func (j *Journal) replay(ctx context.Context, records []any, known map[operationKey]loggedResult) error {
	completeSaves(records, known)
	for _, rec := range records {
		var err error
		switch r := rec.(type) {
		case created:
			err = j.recreate(ctx, r)
		case operation:
			m := j.models[r.ModelID]
			if m == nil {
				err = fmt.Errorf("journal: request %d of model %s, which the log does not create", r.SeqID, r.ModelID)
			} else if m.lacks(r.SeqID) && m.broken == nil {
				result, done := known[operationKey{r.ModelID, r.SeqID}]
				if bad := m.restore(tinker.Promised(ctx)); bad != nil {
					err = j.leaveOut(m, bad)
				} else if done && result.settled() {
					err = m.skip(result)
				} else {
					err = m.replay(r)
				}
			}
		case unloaded:
			if m := j.models[r.ModelID]; m != nil {
				_, err = m.unload(ctx, false)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *Journal) recreate(ctx context.Context, r created) error {
	if j.models[r.ModelID] != nil {
		return nil // from its snapshot
	}
	var inner tinker.TrainingClient
	var err error
	if r.Kind == recCreate {
		var req tinker.CreateModelRequest
		if err = json.Unmarshal(r.Request, &req); err == nil {
			inner, err = j.m.CreateModel(ctx, req)
		}
	} else {
		var req tinker.CreateFromStateRequest
		j.settle() // the state may be one that the replay saves
		if err = json.Unmarshal(r.Request, &req); err == nil {
			inner, err = j.m.CreateModelFromState(ctx, req)
		}
	}
	if r.Kind == recCreateFromState && errors.Is(err, tinker.ErrNotFound) {
		return nil // without a snapshot it was never promised, and its state was deleted later
	}
	if err != nil {
		m := newTrainingClient(j, r, nil)
		m.evicted = true
		j.add(m)
		return j.leaveOut(m, fmt.Errorf("journal: create model %s again: %w", r.ModelID, err))
	}
	m := newTrainingClient(j, r, inner)
	if m.info, err = inner.Info(ctx); err != nil {
		return fmt.Errorf("journal: create model %s again: %w", r.ModelID, err)
	}
	if r.Kind == recCreateFromState {
		if err := m.snapshot(); err != nil {
			return err
		}
	}
	j.add(m)
	return nil
}

// settle waits until the machine has executed everything replayed so far that can run.
func (j *Journal) settle() {
	for _, done := range j.pending() {
		<-done
	}
}

// pending is the completion channels of the machine's work. A request that waits for a missing earlier one is left
// out, since it waits for its client.
func (j *Journal) pending() (ends []<-chan struct{}) {
	for _, m := range j.all() {
		m.mu.Lock()
		for seq := m.applied + 1; ; seq++ {
			o, ok := m.ops.Get(seq)
			if !ok {
				break
			}
			if d, ok := o.future.(interface{ Done() <-chan struct{} }); ok {
				ends = append(ends, d.Done())
			}
		}
		m.mu.Unlock()
	}
	return ends
}

// completeSaves gives a save without a result the result of a later save of the same checkpoint, since executing it
// again would replace the later one's files. Both results are the path alone.
func completeSaves(records []any, known map[operationKey]loggedResult) {
	type checkpoint struct{ model, op, name string }
	newest := map[checkpoint]loggedResult{}
	for _, rec := range slices.Backward(records) {
		r, ok := rec.(operation)
		if !ok || r.Name != opSaveState && r.Name != opSaveSampler {
			continue
		}
		var req tinker.SaveRequest
		if json.Unmarshal(r.Request, &req) != nil {
			continue
		}
		key, at := operationKey{r.ModelID, r.SeqID}, checkpoint{r.ModelID, r.Name, req.Name}
		result, done := known[key]
		later := newest[at]
		switch {
		case done && result.Error == "" && r.SeqID > later.SeqID:
			newest[at] = result
		case !done && r.SeqID < later.SeqID:
			later.SeqID, later.Hash = r.SeqID, hashOf(&req)
			known[key] = later
		}
	}
}

// settled reports whether a request need not be executed again: its result is known, and it did not change the model,
// as no failed one does. What failed stays failed, also if it would succeed now.
func (r loggedResult) settled() bool {
	return r.Error != "" || r.Name == opForward || r.Name == opSaveState || r.Name == opSaveSampler
}

// skip uses up the number of a settled request: a request without data fails and changes nothing.
func (m *trainingClient) skip(r loggedResult) error {
	if _, err := m.inner.Forward(m.j.ctx, tinker.ForwardRequest{SeqID: r.SeqID,
		LossFn: tinker.CrossEntropy}); err != nil {
		return fmt.Errorf("journal: replay request %d of model %s: %w", r.SeqID, m.id, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restoreResult(r)
}

func (m *trainingClient) replay(r operation) error {
	var err error
	switch r.Name {
	case opForward:
		err = again(m, r, m.inner.Forward)
	case opForwardBackward:
		err = again(m, r, m.inner.ForwardBackward)
	case opOptimStep:
		err = again(m, r, m.inner.OptimStep)
	case opSaveState:
		err = again(m, r, m.inner.SaveState)
	case opLoadState:
		err = again(m, r, m.inner.LoadState)
	case opSaveSampler:
		err = again(m, r, m.inner.SaveWeightsForSampler)
	default:
		err = fmt.Errorf("operation %q is not known to this version", r.Name)
	}
	if err != nil {
		return fmt.Errorf("journal: replay request %d of model %s: %w", r.SeqID, m.id, err)
	}
	return nil
}

func again[Req, T any](m *trainingClient, r operation,
	send func(context.Context, Req) (*tinker.Future[T], error)) error {
	var req Req
	if err := json.Unmarshal(r.Request, &req); err != nil {
		return err
	}
	f, resolve := tinker.NewFuture[T]()
	o := &acceptedRequest{name: r.Name, hash: hashOf(&req), future: f, noted: make(chan struct{})}
	m.mu.Lock()
	m.ops.Accept(r.SeqID, o)
	m.running++
	m.bytes += int64(len(r.Request))
	m.mu.Unlock()
	inner, err := send(m.j.ctx, req)
	if err != nil {
		inner = tinker.Resolved(*new(T), err)
	}
	watch(m, o, r.SeqID, inner, resolve)
	return nil
}
