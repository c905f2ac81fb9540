package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// trainings finds results of training requests.
type trainings interface {
	Result(m *model, seq int64) (pendingResult, error)
	Unloaded(modelID string) (pendingResult, error)
}

// drawings finds samples.
type drawings interface {
	Result(tenant string, key sampleKey) (pendingResult, error)
	// Ended lists the samples of a session that ended after a cursor. The store is locked.
	Ended(p *sampler, copy, after int64) (done []completion, cursor int64)
}

// futures answers what clients ask about accepted requests.
type futures struct {
	state    *store
	life     *life
	capacity *capacity
	tickets  *signer
	edge     *edge
	runs     trainings
	samplers drawings
	hold     time.Duration // how long a call waits for a result
}

// pendingResult is a result that may not exist yet.
type pendingResult struct {
	done   <-chan struct{}
	result func() (any, error) // to be called when done
	// state returns why the result takes long: a state of the protocol and a reason for the user. It may be nil.
	state func() (queue, reason string)
}

// retrieve waits for a result. If there is none after Hold, which is below the SDK's own limit, it answers
// try_again.
func (s *futures) retrieve(c *call, req wire.RetrieveRequest) (any, error) {
	p, err := s.lookup(c.tenant, req.RequestID)
	if err != nil {
		return nil, err
	}
	hold := time.NewTimer(s.hold)
	defer hold.Stop()
	leave, err := s.capacity.listen(c.tenant)
	if err != nil {
		return nil, busy(c, err.Error())
	}
	defer leave()
	select {
	case <-p.done:
	case <-hold.C:
		return s.tryAgain(req.RequestID, p), nil
	case <-s.life.ctx.Done():
		return s.tryAgain(req.RequestID, p), nil
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	v, err := p.result()
	switch {
	case errors.Is(err, tinker.ErrClosed) || errors.Is(err, context.Canceled):
		return s.tryAgain(req.RequestID, p), nil // the next process has it
	case err != nil:
		return wire.Failed{Error: s.edge.hide(tinker.BriefText(err.Error())), Category: tinker.CategoryOf(err)}, nil
	}
	return s.render(c, v)
}

func (s *futures) tryAgain(id string, p pendingResult) wire.TryAgain {
	t := wire.TryAgain{Type: "try_again", RequestID: id, QueueState: wire.QueueActive}
	if p.state != nil {
		t.QueueState, t.QueueStateReason = p.state()
	}
	return t
}

// render encodes a result: batches and samples as protobuf, the rest as JSON.
func (s *futures) render(c *call, v any) (any, error) {
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
func (s *futures) renderProto(c *call, raw []byte) (any, error) {
	if !strings.Contains(c.r.Header.Get("Accept"), wire.Proto) {
		return nil, status(http.StatusNotAcceptable, "this result is protobuf (Accept: %s); its JSON form, of Tinker "+
			"SDK 0.24 and older, was last written by trinity 0.2: update the SDK (pip install -U tinker)", wire.Proto)
	}
	write(c.w, http.StatusOK, wire.Proto, raw)
	return nil, errAnswered
}

// savedAnswer returns the path of a checkpoint, or the session of an unnamed sampler.
func (s *futures) savedAnswer(v tinker.SaveOutput) (any, error) {
	p, err := tinker.ParsePath(v.Path)
	if err != nil {
		return nil, err
	}
	if p.Kind == tinker.KindState {
		return wire.SaveResponse{Type: "save_weights", Path: v.Path}, nil
	}
	if kind, name := outer(p); kind == kindExternal {
		return wire.SaveResponse{Type: "save_weights_external",
			Path: "tinker://" + p.ModelID + "/" + kind + "/" + name}, nil
	}
	if !strings.HasPrefix(p.Name, unnamedPrefix) {
		return wire.SaveResponse{Type: "save_weights_for_sampler", Path: v.Path}, nil
	}
	s.state.Lock()
	id := s.state.unnamed[v.Path]
	s.state.Unlock()
	if id == "" {
		return wire.Failed{Error: "the unnamed sampler was not used for a long time and was deleted; save again",
			Category: tinker.User}, nil
	}
	return wire.SaveResponse{Type: "save_weights_for_sampler", SamplingSessionID: id}, nil
}

// errUnknownFuture is the error of ids that do not exist or belong to another tenant.
var errUnknownFuture = fmt.Errorf("request_id: %w", tinker.ErrNotFound)

// gone is the error of a result that is no longer kept: the SDK samples again.
func gone(format string, args ...any) error { return status(http.StatusGone, format, args...) }

// lookup finds a request of the tenant's by its id.
func (s *futures) lookup(tenant, token string) (pendingResult, error) {
	kind, id, seq, ok := s.tickets.parse(token)
	if !ok {
		return pendingResult{}, errUnknownFuture
	}
	switch kind {
	case ticketSample:
		return s.samplers.Result(tenant, sampleKey{id, seq})
	case ticketUnload:
		if _, err := s.state.ownModel(tenant, id); err != nil {
			return pendingResult{}, errUnknownFuture
		}
		return s.runs.Unloaded(id)
	case ticketModel, ticketTrain:
		m, err := s.state.ownModel(tenant, id)
		if err != nil {
			return pendingResult{}, errUnknownFuture
		}
		if kind == ticketModel {
			return pendingResult{done: m.made, result: m.answer}, nil
		}
		return s.runs.Result(m, seq)
	}
	return pendingResult{}, errUnknownFuture
}

func closedChan() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func resultOf[T any](f *tinker.Future[T]) func() (any, error) {
	return func() (any, error) { return f.Wait(context.Background()) }
}
