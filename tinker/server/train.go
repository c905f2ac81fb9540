package server

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// errOldForward is the error of a batch as JSON.
var errOldForward = &undecodedError{tinker.Userf("a batch of forward or forward_backward is protobuf (%s); its JSON "+
	"form, of Tinker SDK 0.24 and older, was last read by trinity 0.2: update the SDK (pip install -U tinker)",
	wire.Proto)}

// forwardBackward accepts a batch. A request that can be read is promised, and an error in its data becomes its result:
// refusing a chunk would stop the SDK permanently.
func (s *runs) forwardBackward(c *call) (any, error) {
	if !largeTraining.proto(c.r) {
		return nil, errOldForward
	}
	req, bad := wire.DecodeForwardBackward(c.body)
	if errors.Is(bad, wire.ErrMalformed) {
		return nil, bad
	}
	if bad == nil && len(req.LossFnText) > 0 {
		bad = tinker.Userf("loss_fn_config: %v is text; the losses have numeric settings only", req.LossFnText)
	}
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	if bad == nil && req.LossFn == tinker.StableReinforce {
		bad = s.recorder.Attribute(m.Session, req)
	}
	if bad != nil {
		return s.reject(m, req.SeqID, bad)
	}
	tokens := 0
	for _, d := range req.Data {
		tokens += d.ModelInput.Len()
	}
	f := tinker.ForwardRequest{SeqID: req.SeqID, Data: req.Data, LossFn: req.LossFn, LossFnConfig: req.LossFnConfig}
	phase, send := "forward_backward", m.client.ForwardBackward
	if req.ForwardOnly {
		phase, send = "forward", m.client.Forward
	}
	return accept(s, m, req.SeqID, phase, tokens, max(int64(len(c.body)), c.weight),
		func() (*tinker.Future[tinker.ForwardOutput], error) { return send(s.life.ctx, f) })
}

func (s *runs) optimStep(c *call, req wire.OptimStepRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	o, err := req.Tinker()
	if err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return accept(s, m, req.SeqID, "optim_step", 0, int64(len(c.body)),
		func() (*tinker.Future[tinker.OptimStepOutput], error) { return m.client.OptimStep(s.life.ctx, o) })
}

// refuseTraining answers a training request that could not be decoded. If its model and number can be read at all, the
// number is used up, so that later requests do not wait for it.
func (s *runs) refuseTraining(c *call, proto bool, bad error) (any, error) {
	id, seq, ok := wire.PeekTraining(c.body, proto)
	if !ok || checkSeq(seq) != nil {
		return nil, bad
	}
	m, err := s.trainer(c, id)
	if errors.Is(err, tinker.ErrNotFound) {
		return nil, bad
	}
	if err != nil {
		return nil, err
	}
	return s.reject(m, seq, asUser(bad))
}

// accept hands a training request to the backend, which makes it durable, and promises its result.
func accept[T any](s *runs, m *model, seq int64, phase string, tokens int, size int64,
	send func() (*tinker.Future[T], error)) (any, error) {
	if err := checkSeq(seq); err != nil {
		return nil, err
	}
	if err := s.capacity.disk(); err != nil {
		return nil, err
	}
	s.state.Lock()
	_, again := s.state.rejected(m.ID, seq)
	far := s.tooFar(m, seq)
	awaited := len(m.ahead) > 0 && seq == m.dense+1 // later requests wait for it
	s.state.Unlock()
	if far != nil {
		return nil, far
	}
	if !awaited && !s.known(m, seq) {
		if err := s.queueRoom(m, tokens, size); err != nil {
			return nil, err
		}
	}
	if again {
		if err := s.state.log.Sync(s.state.log.End()); err != nil { // the first one may not be on the disk yet
			return nil, err
		}
	} else {
		f, err := send()
		// the run is evicted, and there is no memory to restore it
		for errors.Is(err, tinker.ErrBusy) && s.memory.Forget() {
			f, err = send()
		}
		if errors.Is(err, tinker.ErrBusy) {
			s.stats.full()
			return nil, statusAfter(http.StatusServiceUnavailable, err, 5*time.Second)
		}
		if tinker.CategoryOf(err) == tinker.User && !errors.Is(err, tinker.ErrUnloaded) &&
			!errors.Is(err, tinker.ErrUnusable) && !s.known(m, seq) {
			return s.reject(m, seq, err) // it is invalid and was not logged
		}
		if err != nil {
			return nil, err
		}
		if s.arrive(m, seq) {
			s.count(s.tenantOf(m), phase, tokens, size, f.Done())
		}
	}
	return s.tickets.promise(ticketTrain, m.ID, seq, m.ID), nil
}

// queueRoom refuses a training request while the queue is full.
func (s *runs) queueRoom(m *model, tokens int, size int64) error {
	tenant := s.tenantOf(m)
	if err := s.capacity.queue(tinker.Training, tenant, tokens, size); err != nil {
		return statusAfter(http.StatusServiceUnavailable, fmt.Errorf("%w; send this one again later", err),
			5*time.Second)
	}
	return nil
}

func (s *runs) tenantOf(m *model) string {
	s.state.Lock()
	defer s.state.Unlock()
	return s.state.sessions[m.Session].Tenant
}

func checkSeq(seq int64) error {
	if seq < 1 || seq > math.MaxInt32 {
		return tinker.Userf("seq_id is %d; requests of a model are numbered 1, 2, 3 …", seq)
	}
	return nil
}

// arrive notes that a request was accepted, and reports whether that is new. A request that the backend knows can be
// new here: it has one whose record could not be written yet, and the client, told so, sends it again.
func (s *runs) arrive(m *model, seq int64) bool {
	s.state.Lock()
	defer s.state.Unlock()
	fresh := seq > m.dense && !m.ahead[seq]
	s.arrived(m, seq)
	return fresh
}

// count counts a pending request of a tenant until it is done. Copies of it are not counted.
func (s *runs) count(tenant, phase string, tokens int, size int64, done <-chan struct{}) {
	s.capacity.training.take(tenant, size)
	leave := func() { s.capacity.training.release(tenant, size) }
	begun := s.life.begin(func() {
		defer leave()
		select {
		case <-done:
			s.stats.tokens(tenant, phase, tokens)
		case <-s.life.ctx.Done():
		}
	})
	if !begun {
		leave()
	}
}

// reject uses up the number of an invalid request, so that later ones run, and promises the error as its result.
func (s *runs) reject(m *model, seq int64, bad error) (any, error) {
	if err := checkSeq(seq); err != nil {
		return nil, err
	}
	err := s.state.change(func(t *store) (int64, error) {
		if err := s.tooFar(m, seq); err != nil {
			return 0, err
		}
		if s.backend.Accepted(m.ID, seq) {
			if _, again := t.rejected(m.ID, seq); !again {
				return 0, tinker.Userf("%w (and the new request is invalid: %w)",
					numbered.Reused(seq, "model "+m.ID), bad)
			}
			return 0, nil
		}
		r := rejected(m.ID, seq, bad)
		at, err := s.state.record(recReject, r)
		if err == nil {
			t.addReject(r)
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	if err := s.void(m, seq); err != nil {
		return nil, err
	}
	s.arrive(m, seq)
	return s.tickets.promise(ticketTrain, m.ID, seq, m.ID), nil
}

// void sends a request without data in place of an invalid one: it fails, and changes only the next number.
func (s *runs) void(m *model, seq int64) error {
	_, err := m.client.Forward(s.life.ctx, tinker.ForwardRequest{SeqID: seq, LossFn: tinker.CrossEntropy})
	if tinker.CategoryOf(err) == tinker.User {
		return nil // used up before
	}
	return err
}

// Result finds the result of a training request.
func (s *runs) Result(m *model, seq int64) (pendingResult, error) {
	s.state.Lock()
	r, wrong := s.state.rejected(m.ID, seq)
	s.state.Unlock()
	if wrong {
		return pendingResult{done: closedChan(), result: func() (any, error) { return nil, r.err() }}, nil
	}
	if err := m.unusable(); err != nil {
		return pendingResult{done: closedChan(), result: func() (any, error) { return nil, err }}, nil
	}
	found, accepted := s.backend.Lookup(m.ID, seq)
	if found == nil && accepted {
		return pendingResult{}, gone("the result of request %d of model %s is no longer kept", seq, m.ID)
	}
	p := pendingResult{state: func() (string, string) {
		s.state.Lock()
		defer s.state.Unlock()
		return wire.QueueActive, m.gapReason(seq)
	}}
	switch f := found.(type) {
	case *tinker.Future[tinker.ForwardOutput]:
		p.done, p.result = f.Done(), resultOf(f)
	case *tinker.Future[tinker.OptimStepOutput]:
		p.done, p.result = f.Done(), resultOf(f)
	case *tinker.Future[tinker.SaveOutput]:
		p.done, p.result = f.Done(), resultOf(f)
	case *tinker.Future[tinker.LoadOutput]:
		p.done, p.result = f.Done(), resultOf(f)
	default:
		return pendingResult{}, errUnknownFuture
	}
	return p, nil
}
