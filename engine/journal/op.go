package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// acceptedRequest is one accepted request of a model. Its future has the type that its method returns.
type acceptedRequest struct {
	name   string
	hash   [32]byte
	logged position // end of the request's record in the log
	future any
	result *loggedResult // nil while it runs
	noted  chan struct{} // closed when result is set, or never will be
}

// watch resolves a request's future when the machine has executed it, records the result and takes a snapshot if one
// is due.
func watch[T any](m *trainingClient, o *acceptedRequest, seq int64, inner *tinker.Future[T], resolve func(T, error)) {
	start := time.Now()
	m.j.background.Go(func() {
		v, err := inner.Wait(context.Background())
		m.await(seq - 1)
		if errors.Is(err, tinker.ErrClosed) || errors.Is(err, context.Canceled) {
			close(o.noted)
			resolve(v, err) // the process ends; the next one runs it again
			return
		}
		if halted := m.halts(seq, err); halted != nil {
			close(o.noted)
			resolve(*new(T), halted)
			return
		}
		m.finish(o, seq, start, v, err)
		if o.name == opLoadState && err == nil {
			if serr := m.keepLoaded(); serr != nil {
				resolve(v, serr)
				return
			}
		}
		resolve(v, err)
		m.snapshotIfDue()
	})
}

// keepLoaded takes the snapshot without which a loaded state is not promised: what was loaded may be deleted before a
// replay. The request has changed the model, so where clients outlive this process its promise waits for room on the
// disk.
func (m *trainingClient) keepLoaded() error {
	for {
		err := m.snapshot()
		full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
		if !full || m.j.opts.Local || m.leaves() {
			return err
		}
		m.j.opts.Warn(fmt.Sprintf("model %s has loaded a state, and its snapshot failed; it is tried again: %v", m.id,
			err))
		select {
		case <-time.After(loadedAgain):
		case <-m.j.ctx.Done():
			return tinker.ErrClosed
		}
	}
}

// loadedAgain is the time between two tries.
const loadedAgain = time.Second

func (m *trainingClient) finish(o *acceptedRequest, seq int64, start time.Time, v any, err error) {
	r := loggedResult{ModelID: m.id, SeqID: seq, Name: o.name, Hash: o.hash}
	if err != nil {
		r.Error, r.Category = tinker.BriefText(err.Error()), string(tinker.CategoryOf(err))
	} else if r.Value, err = json.Marshal(v); err != nil {
		r.Error, r.Category = fmt.Sprintf("journal: result of %s: %v", o.name, err), string(tinker.Server)
	}
	m.j.log.append(recResult, r) // without an fsync: a lost result is recomputed
	defer close(o.noted)
	m.mu.Lock()
	defer m.mu.Unlock()
	o.result = &r
	m.running--
	m.used = time.Now()
	m.bytes += int64(len(r.Value))
	now := time.Now()
	if start.Before(m.lastDone) {
		start = m.lastDone
	}
	m.compute, m.lastDone = m.compute+now.Sub(start), now
}

func closedChan() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// restoreResult makes the future of a request from its kept result. m.mu is held, or no other goroutine has the
// model.
func (m *trainingClient) restoreResult(r loggedResult) error {
	o, err := opOf(r)
	if err == nil {
		m.ops.Accept(r.SeqID, o)
	}
	return err
}

// opOf makes the op of a result.
func opOf(r loggedResult) (o *acceptedRequest, err error) {
	o = &acceptedRequest{name: r.Name, hash: r.Hash, result: &r, noted: closedChan()}
	switch r.Name {
	case opForward, opForwardBackward:
		o.future, err = resolved[tinker.ForwardOutput](r)
	case opOptimStep:
		o.future, err = resolved[tinker.OptimStepOutput](r)
	case opSaveState, opSaveSampler:
		o.future, err = resolved[tinker.SaveOutput](r)
	case opLoadState:
		o.future, err = resolved[tinker.LoadOutput](r)
	default:
		err = fmt.Errorf("operation %q is not known to this version", r.Name)
	}
	return o, err
}

func resolved[T any](r loggedResult) (*tinker.Future[T], error) {
	var v T
	if r.Error != "" {
		return tinker.Resolved(v, error(&tinker.Error{Category: tinker.Category(r.Category),
			Err: errors.New(r.Error)})), nil
	}
	err := json.Unmarshal(r.Value, &v)
	return tinker.Resolved(v, nil), err
}
