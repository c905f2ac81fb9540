// Package future waits for the results of accepted requests and renders them.
package future

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// trainings finds results of training requests.
type trainings interface {
	Result(m *state.Model, seq int64) (PendingResult, error)
	Unloaded(modelID string) (PendingResult, error)
}

// drawings finds samples.
type drawings interface {
	Result(tenant string, key state.SampleKey) (PendingResult, error)
	// Ended lists the samples of a session that ended after a cursor. The store is locked.
	Ended(p *state.Sampler, copy, after int64) (done []Completion, cursor int64)
}

// Futures retrieves the results of accepted requests.
type Futures struct {
	State    *state.Store
	Life     *life.Life
	Capacity *capacity.Capacity
	Tickets  *ticket.Signer
	Edge     *edge.Edge
	Runs     trainings
	Samplers drawings
	Hold     time.Duration // how long a call waits for a result
}

// PendingResult is a result that may not exist yet.
type PendingResult struct {
	Done   <-chan struct{}
	Result func() (any, error) // to be called when done
	// state returns why the result takes long: a state of the protocol and a reason for the user. It may be nil.
	State func() (queue, reason string)
}

// Retrieve waits for a result. If there is none after Hold, which is below the SDK's own limit, it answers
// try_again.
func (s *Futures) Retrieve(c *edge.Call, req wire.RetrieveRequest) (any, error) {
	p, err := s.lookup(c.Tenant, req.RequestID)
	if err != nil {
		return nil, err
	}
	hold := time.NewTimer(s.Hold)
	defer hold.Stop()
	leave, err := s.Capacity.Listen(c.Tenant)
	if err != nil {
		return nil, edge.Busy(c, err.Error())
	}
	defer leave()
	select {
	case <-p.Done:
	case <-hold.C:
		return s.tryAgain(req.RequestID, p), nil
	case <-s.Life.Ctx.Done():
		return s.tryAgain(req.RequestID, p), nil
	case <-c.Ctx.Done():
		return nil, context.Cause(c.Ctx)
	}
	v, err := p.Result()
	switch {
	case errors.Is(err, tinker.ErrClosed) || errors.Is(err, context.Canceled):
		return s.tryAgain(req.RequestID, p), nil // the next process has it
	case err != nil:
		return wire.Failed{Error: s.Edge.Hide(tinker.BriefText(err.Error())), Category: tinker.CategoryOf(err)}, nil
	}
	return s.render(c, v)
}

func (s *Futures) tryAgain(id string, p PendingResult) wire.TryAgain {
	t := wire.TryAgain{Type: "try_again", RequestID: id, QueueState: wire.QueueActive}
	if p.State != nil {
		t.QueueState, t.QueueStateReason = p.State()
	}
	return t
}

// render encodes a result: batches and samples as protobuf, the rest as JSON.
func (s *Futures) render(c *edge.Call, v any) (any, error) {
	switch v := v.(type) {
	case tinker.ForwardOutput:
		return s.renderProto(c, wire.EncodeOutput(v))
	case []byte: // a sample
		return s.renderProto(c, v)
	case tinker.OptimStepOutput:
		return wire.OptimStepResponse{Metrics: wire.FiniteMetrics(v.Metrics)}, nil
	case tinker.SaveOutput:
		return s.savedAnswer(v)
	case tinker.UnloadOutput:
		return wire.GetInfoRequest{ModelID: v.ModelID, Type: "unload_model"}, nil
	case tinker.LoadOutput:
		return wire.LoadResponse{Type: "load_weights", Path: v.Path}, nil
	}
	return v, nil
}

// renderProto answers with a message, if the client reads protobuf.
func (s *Futures) renderProto(c *edge.Call, raw []byte) (any, error) {
	if !strings.Contains(c.R.Header.Get("Accept"), wire.Proto) {
		return nil, edge.Status(http.StatusNotAcceptable, "this result is protobuf (Accept: %s); its JSON form, of "+
			"Tinker SDK 0.24 and older, was last written by trinity 0.2: update the SDK (pip install -U tinker)",
			wire.Proto)
	}
	edge.Write(c.W, http.StatusOK, wire.Proto, raw)
	return nil, edge.ErrAnswered
}

// savedAnswer returns the path of a checkpoint, or the session of an unnamed sampler.
func (s *Futures) savedAnswer(v tinker.SaveOutput) (any, error) {
	p, err := tinker.ParsePath(v.Path)
	if err != nil {
		return nil, err
	}
	if p.Kind == tinker.KindState {
		return wire.SaveResponse{Type: "save_weights", Path: v.Path}, nil
	}
	if kind, name := checkpoint.Outer(p); kind == checkpoint.KindExternal {
		return wire.SaveResponse{Type: "save_weights_external",
			Path: "tinker://" + p.ModelID + "/" + kind + "/" + name}, nil
	}
	if !strings.HasPrefix(p.Name, checkpoint.UnnamedPrefix) {
		return wire.SaveResponse{Type: "save_weights_for_sampler", Path: v.Path}, nil
	}
	s.State.Lock()
	id := s.State.Unnamed[v.Path]
	s.State.Unlock()
	if id == "" {
		return wire.Failed{Error: "the unnamed sampler was not used for a long time and was deleted; save again",
			Category: tinker.User}, nil
	}
	return wire.SaveResponse{Type: "save_weights_for_sampler", SamplingSessionID: id}, nil
}

// ErrUnknownFuture is the error of ids that do not exist or belong to another tenant.
var ErrUnknownFuture = fmt.Errorf("request_id: %w", tinker.ErrNotFound)

// Gone is the error of a result that is no longer kept: the SDK samples again.
func Gone(format string, args ...any) error { return edge.Status(http.StatusGone, format, args...) }

// lookup finds a request of the tenant's by its id.
func (s *Futures) lookup(tenant, token string) (PendingResult, error) {
	kind, id, seq, ok := s.Tickets.Parse(token)
	if !ok {
		return PendingResult{}, ErrUnknownFuture
	}
	switch kind {
	case ticket.Sample:
		return s.Samplers.Result(tenant, state.SampleKey{Sampler: id, Seq: seq})
	case ticket.Unload:
		if _, err := s.State.OwnModel(tenant, id); err != nil {
			return PendingResult{}, ErrUnknownFuture
		}
		return s.Runs.Unloaded(id)
	case ticket.Model, ticket.Train:
		m, err := s.State.OwnModel(tenant, id)
		if err != nil {
			return PendingResult{}, ErrUnknownFuture
		}
		if kind == ticket.Model {
			return PendingResult{Done: m.Made, Result: m.Answer}, nil
		}
		return s.Runs.Result(m, seq)
	}
	return PendingResult{}, ErrUnknownFuture
}

func ClosedChan() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func ResultOf[T any](f *tinker.Future[T]) func() (any, error) {
	return func() (any, error) { return f.Wait(context.Background()) }
}
