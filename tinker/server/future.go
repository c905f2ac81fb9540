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

// pendingResult is a result that may not exist yet.
type pendingResult struct {
	done   <-chan struct{}
	result func() (any, error) // to be called when done
	// state returns why the result takes long: a state of the protocol and a reason for the user. It may be nil.
	state func() (queue, reason string)
}

// retrieve waits for a result. If there is none after Hold, which is below the SDK's own limit, it answers
// try_again.
func (s *Server) retrieve(c *call, req wire.RetrieveRequest) (any, error) {
	p, err := s.lookup(c.tenant, req.RequestID)
	if err != nil {
		return nil, err
	}
	hold := time.NewTimer(s.opts.Hold)
	defer hold.Stop()
	leave, err := s.listen(c)
	if err != nil {
		return nil, err
	}
	defer leave()
	select {
	case <-p.done:
	case <-hold.C:
		return s.tryAgain(req.RequestID, p), nil
	case <-s.ctx.Done():
		return s.tryAgain(req.RequestID, p), nil
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	v, err := p.result()
	switch {
	case errors.Is(err, tinker.ErrClosed) || errors.Is(err, context.Canceled):
		return s.tryAgain(req.RequestID, p), nil // the next process has it
	case err != nil:
		return wire.Failed{Error: s.hide(tinker.BriefText(err.Error())), Category: tinker.CategoryOf(err)}, nil
	}
	return s.render(c, v)
}

// listen counts a call that waits for a result against its tenant's limit until leave is called.
func (s *Server) listen(c *call) (leave func(), err error) {
	tenant := c.tenant
	if err := s.listening.try(tenant, 0); err != nil {
		s.stats.pushedBack.Inc()
		return nil, busy(c, err.Error())
	}
	return func() { s.listening.release(tenant, 0) }, nil
}

func (s *Server) tryAgain(id string, p pendingResult) wire.TryAgain {
	t := wire.TryAgain{Type: "try_again", RequestID: id, QueueState: wire.QueueActive}
	if p.state != nil {
		t.QueueState, t.QueueStateReason = p.state()
	}
	return t
}

// render encodes a result: batches and samples as protobuf, the rest as JSON.
func (s *Server) render(c *call, v any) (any, error) {
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
func (s *Server) renderProto(c *call, raw []byte) (any, error) {
	if !strings.Contains(c.r.Header.Get("Accept"), wire.Proto) {
		return nil, status(http.StatusNotAcceptable, "this result is protobuf (Accept: %s); its JSON form, of Tinker "+
			"SDK 0.24 and older, was last written by trinity 0.2: update the SDK (pip install -U tinker)", wire.Proto)
	}
	write(c.w, http.StatusOK, wire.Proto, raw)
	return nil, errAnswered
}

// savedAnswer returns the path of a checkpoint, or the session of an unnamed sampler.
func (s *Server) savedAnswer(v tinker.SaveOutput) (any, error) {
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
	s.mu.Lock()
	id := s.state.unnamed[v.Path]
	s.mu.Unlock()
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
func (s *Server) lookup(tenant, token string) (pendingResult, error) {
	kind, id, seq, ok := s.parseToken(token)
	if !ok {
		return pendingResult{}, errUnknownFuture
	}
	switch kind {
	case tokenSample:
		return s.lookupSample(tenant, sampleKey{id, seq})
	case tokenUnload:
		if _, err := s.ownModel(tenant, id); err != nil {
			return pendingResult{}, errUnknownFuture
		}
		return s.lookupUnload(id)
	case tokenModel, tokenTrain:
		m, err := s.ownModel(tenant, id)
		if err != nil {
			return pendingResult{}, errUnknownFuture
		}
		if kind == tokenModel {
			return pendingResult{done: m.made, result: m.answer}, nil
		}
		return s.lookupTraining(m, seq)
	}
	return pendingResult{}, errUnknownFuture
}

// answer is the result of creating a model.
func (m *model) answer() (any, error) {
	if m.err != nil {
		return nil, m.err
	}
	if m.Load != nil {
		return wire.LoadResponse{Type: "load_weights", Path: m.Load.Path, ModelID: m.ID}, nil
	}
	return wire.CreateModelResponse{Type: "create_model", ModelID: m.ID}, nil
}

// unusable is why a model could not be created or restored; nil while that is not known.
func (m *model) unusable() error {
	select {
	case <-m.made:
		return m.err
	default:
		return nil
	}
}

func (s *Server) lookupTraining(m *model, seq int64) (pendingResult, error) {
	s.mu.Lock()
	r, wrong := s.state.rejected(m.ID, seq)
	s.mu.Unlock()
	if wrong {
		return pendingResult{done: closedChan(), result: func() (any, error) { return nil, r.err() }}, nil
	}
	if err := m.unusable(); err != nil {
		return pendingResult{done: closedChan(), result: func() (any, error) { return nil, err }}, nil
	}
	future, accepted := s.backend.Lookup(m.ID, seq)
	if future == nil && accepted {
		return pendingResult{}, gone("the result of request %d of model %s is no longer kept", seq, m.ID)
	}
	p := pendingResult{state: func() (string, string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return wire.QueueActive, m.gapReason(seq)
	}}
	switch f := future.(type) {
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

func closedChan() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func resultOf[T any](f *tinker.Future[T]) func() (any, error) {
	return func() (any, error) { return f.Wait(context.Background()) }
}

// busyReason is the reason why a sample takes long: many other samples are in progress.
func (s *Server) busyReason(tenant string) (queue, reason string) {
	if all, own := s.sampling.now(tenant); all.requests > s.opts.Crowd {
		return wire.QueuePausedCapacity,
			fmt.Sprintf("%d sample requests are under way on this server, %d of them yours", all.requests, own.requests)
	}
	return wire.QueueActive, ""
}

func (s *Server) lookupSample(tenant string, key sampleKey) (pendingResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.samplers[key.sampler] == nil {
		return pendingResult{}, gone("sampling session %s no longer exists", key.sampler)
	}
	if _, err := s.state.ownSampler(tenant, key.sampler); err != nil {
		return pendingResult{}, errUnknownFuture
	}
	p := s.state.samples[key]
	if p == nil {
		return pendingResult{}, gone("the result of this sample is no longer kept")
	}
	return pendingResult{done: p.done, state: func() (string, string) { return s.busyReason(tenant) },
		result: func() (any, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			p.fetched = s.opts.Now()
			if p.result.Error != "" {
				return nil, &tinker.Error{Category: p.result.Category, Err: errors.New(p.result.Error)}
			}
			return p.result.Proto, nil
		}}, nil
}
