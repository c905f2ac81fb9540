package training

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/future"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// errOldForward is the error of a batch as JSON.
var errOldForward = edge.Undecoded(tinker.Userf("a batch of forward or forward_backward is protobuf (%s); its JSON "+
	"form, of Tinker SDK 0.24 and older, was last read by trinity 0.2: update the SDK (pip install -U tinker)",
	wire.Proto))

// ForwardBackward accepts a batch. A request that can be read is promised, and an error in its data becomes its result:
// refusing a chunk would stop the SDK permanently.
func (s *Runs) ForwardBackward(c *edge.Call) (any, error) {
	if !edge.LargeTraining.Proto(c.R) {
		return nil, errOldForward
	}
	req, bad := wire.DecodeForwardBackward(c.Body)
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
		bad = s.Recorder.Attribute(m.Session, req)
	}
	if bad != nil {
		return s.reject(m, req.SeqID, bad)
	}
	tokens := 0
	for _, d := range req.Data {
		tokens += d.ModelInput.Len()
	}
	f := tinker.ForwardRequest{SeqID: req.SeqID, Data: req.Data, LossFn: req.LossFn, LossFnConfig: req.LossFnConfig}
	phase, send := "forward_backward", m.Client.ForwardBackward
	if req.ForwardOnly {
		phase, send = "forward", m.Client.Forward
	}
	return accept(s, m, req.SeqID, phase, tokens, max(int64(len(c.Body)), c.Weight),
		func() (*tinker.Future[tinker.ForwardOutput], error) { return send(s.Life.Ctx, f) })
}

func (s *Runs) OptimStep(c *edge.Call, req wire.OptimStepRequest) (any, error) {
	m, err := s.trainer(c, req.ModelID)
	if err != nil {
		return nil, err
	}
	o, err := req.Tinker()
	if err != nil {
		return s.reject(m, req.SeqID, err)
	}
	return accept(s, m, req.SeqID, "optim_step", 0, int64(len(c.Body)),
		func() (*tinker.Future[tinker.OptimStepOutput], error) { return m.Client.OptimStep(s.Life.Ctx, o) })
}

// RefuseTraining answers a training request that could not be decoded. If its model and number can be read at all, the
// number is used up, so that later requests do not wait for it.
func (s *Runs) RefuseTraining(c *edge.Call, proto bool, bad error) (any, error) {
	id, seq, ok := wire.PeekTraining(c.Body, proto)
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
	return s.reject(m, seq, edge.AsUser(bad))
}

// accept hands a training request to the backend, which makes it durable, and promises its result.
func accept[T any](s *Runs, m *state.Model, seq int64, phase string, tokens int, size int64,
	send func() (*tinker.Future[T], error)) (any, error) {
	if err := checkSeq(seq); err != nil {
		return nil, err
	}
	if err := s.Capacity.Disk(); err != nil {
		return nil, err
	}
	s.State.Lock()
	_, again := s.State.Rejected(m.ID, seq)
	far := s.tooFar(m, seq)
	awaited := len(m.Ahead) > 0 && seq == m.Dense+1 // later requests wait for it
	s.State.Unlock()
	if far != nil {
		return nil, far
	}
	if !awaited && !s.Known(m, seq) {
		if err := s.queueRoom(m, tokens, size); err != nil {
			return nil, err
		}
	}
	if again {
		if err := s.State.Log.Sync(s.State.Log.End()); err != nil { // the first one may not be on the disk yet
			return nil, err
		}
	} else {
		f, err := send()
		// the run is evicted, and there is no memory to restore it
		for errors.Is(err, tinker.ErrBusy) && s.Memory.Forget() {
			f, err = send()
		}
		if errors.Is(err, tinker.ErrBusy) {
			s.Stats.Full()
			return nil, edge.StatusAfter(http.StatusServiceUnavailable, err, 5*time.Second)
		}
		if tinker.CategoryOf(err) == tinker.User && !errors.Is(err, tinker.ErrUnloaded) &&
			!errors.Is(err, tinker.ErrUnusable) && !s.Known(m, seq) {
			return s.reject(m, seq, err) // it is invalid and was not logged
		}
		if err != nil {
			return nil, err
		}
		if s.arrive(m, seq) {
			s.count(m, seq, phase, tokens, size, f.Done())
		}
	}
	return s.Tickets.Promise(ticket.Train, m.ID, seq, m.ID), nil
}

// queueRoom refuses a training request while the queue is full.
func (s *Runs) queueRoom(m *state.Model, tokens int, size int64) error {
	tenant := s.tenantOf(m)
	if err := s.Capacity.Queue(tinker.Training, tenant, tokens, size); err != nil {
		return edge.StatusAfter(http.StatusServiceUnavailable, fmt.Errorf("%w; send this one again later", err),
			5*time.Second)
	}
	return nil
}

func (s *Runs) tenantOf(m *state.Model) string {
	s.State.Lock()
	defer s.State.Unlock()
	return s.State.Sessions[m.Session].Tenant
}

func checkSeq(seq int64) error {
	if seq < 1 || seq > math.MaxInt32 {
		return tinker.Userf("seq_id is %d; requests of a model are numbered 1, 2, 3 …", seq)
	}
	return nil
}

// arrive notes that a request was accepted, and reports whether that is new. A request that the backend knows can be
// new here: it has one whose record could not be written yet, and the client, told so, sends it again.
func (s *Runs) arrive(m *state.Model, seq int64) bool {
	s.State.Lock()
	defer s.State.Unlock()
	fresh := seq > m.Dense && !m.Ahead[seq]
	s.arrived(m, seq)
	return fresh
}

// count counts a pending request until it is done, and remembers how long that took. Copies of it are not counted.
func (s *Runs) count(m *state.Model, seq int64, phase string, tokens int, size int64, done <-chan struct{}) {
	tenant, begin := s.tenantOf(m), s.Life.Now()
	s.Capacity.Training.Take(tenant, size)
	leave := func() { s.Capacity.Training.Release(tenant, size) }
	begun := s.Life.Begin(func() {
		defer leave()
		select {
		case <-done:
			s.Stats.Tokens(tenant, phase, tokens)
			s.State.Lock()
			defer s.State.Unlock()
			if u := s.State.Sessions[m.Session]; u != nil {
				u.Remember(state.Span{Name: phase, Model: m.ID, Seq: seq, Tokens: tokens, Begin: begin,
					End: s.Life.Now()})
			}
		case <-s.Life.Ctx.Done():
		}
	})
	if !begun {
		leave()
	}
}

// reject uses up the number of an invalid request, so that later ones run, and promises the error as its result.
func (s *Runs) reject(m *state.Model, seq int64, bad error) (any, error) {
	if err := checkSeq(seq); err != nil {
		return nil, err
	}
	err := s.State.Change(func(t *state.Store) (int64, error) {
		if err := s.tooFar(m, seq); err != nil {
			return 0, err
		}
		if s.Backend.Accepted(m.ID, seq) {
			if _, again := t.Rejected(m.ID, seq); !again {
				return 0, tinker.Userf("%w (and the new request is invalid: %w)",
					numbered.Reused(seq, "model "+m.ID), bad)
			}
			return 0, nil
		}
		r := state.Rejected(m.ID, seq, bad)
		at, err := s.State.Record(state.RecReject, r)
		if err == nil {
			t.AddReject(r)
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
	return s.Tickets.Promise(ticket.Train, m.ID, seq, m.ID), nil
}

// void sends a request without data in place of an invalid one: it fails, and changes only the next number.
func (s *Runs) void(m *state.Model, seq int64) error {
	_, err := m.Client.Forward(s.Life.Ctx, tinker.ForwardRequest{SeqID: seq, LossFn: tinker.CrossEntropy})
	if tinker.CategoryOf(err) == tinker.User {
		return nil // used up before
	}
	return err
}

// Result finds the result of a training request.
func (s *Runs) Result(m *state.Model, seq int64) (future.PendingResult, error) {
	s.State.Lock()
	r, wrong := s.State.Rejected(m.ID, seq)
	s.State.Unlock()
	if wrong {
		return future.PendingResult{Done: future.ClosedChan(), Result: func() (any, error) { return nil, r.Err() }}, nil
	}
	if err := m.Unusable(); err != nil {
		return future.PendingResult{Done: future.ClosedChan(), Result: func() (any, error) { return nil, err }}, nil
	}
	found, accepted := s.Backend.Lookup(m.ID, seq)
	if found == nil && accepted {
		return future.PendingResult{}, future.Gone("the result of request %d of model %s is no longer kept", seq, m.ID)
	}
	p := future.PendingResult{State: func() (string, string) {
		s.State.Lock()
		defer s.State.Unlock()
		return wire.QueueActive, m.GapReason(seq)
	}}
	switch f := found.(type) {
	case *tinker.Future[tinker.ForwardOutput]:
		p.Done, p.Result = f.Done(), future.ResultOf(f)
	case *tinker.Future[tinker.OptimStepOutput]:
		p.Done, p.Result = f.Done(), future.ResultOf(f)
	case *tinker.Future[tinker.SaveOutput]:
		p.Done, p.Result = f.Done(), future.ResultOf(f)
	case *tinker.Future[tinker.LoadOutput]:
		p.Done, p.Result = f.Done(), future.ResultOf(f)
	default:
		return future.PendingResult{}, future.ErrUnknownFuture
	}
	return p, nil
}
