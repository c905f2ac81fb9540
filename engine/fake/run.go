package fake

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// run is a training run: a tinker.TrainingClient. The service's lock guards it.
type run struct {
	s        *Service
	id, key  string
	base     *base
	lora     tinker.LoRA
	state    state
	requests *numbered.Requests[*request]
	done     int64 // SeqID of the last request that has run
	gone     error // not nil: the model takes no more requests
}

// request is one accepted request.
type request struct {
	digest string
	future any    // *tinker.Future of its method's result
	run    func() // runs it and resolves future; nil: it has run
	fail   func(error)
}

func newRun(s *Service, id, key string) *run {
	return &run{s: s, id: id, key: key, requests: numbered.New[*request](id)}
}

// submit accepts a request and runs it, and those that waited for it, if it is next.
func submit[T any](ctx context.Context, r *run, seq int64, digest string,
	exec func() (T, error)) (*tinker.Future[T], error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.closed {
		return nil, errClosed()
	}
	if r.gone != nil {
		return nil, r.gone
	}
	seq = r.requests.Number(seq)
	if seq < 1 || seq > r.done+1<<16 {
		return nil, tinker.Userf("fake: seq_id %d of model %s is out of range", seq, r.id)
	}
	var f *tinker.Future[T]
	_, found, err := r.requests.Repeated(seq, r.done, func(q *request) (ok bool) {
		f, ok = q.future.(*tinker.Future[T])
		return ok && q.digest == digest
	})
	if err != nil {
		return nil, tinker.Userf("fake: %w", err)
	}
	if found {
		return f, nil
	}
	f, resolve := tinker.NewFuture[T]()
	r.requests.Accept(seq, &request{digest: digest, future: f, run: func() { resolve(exec()) },
		fail: func(err error) { resolve(*new(T), err) }})
	r.work()
	return f, nil
}

// work runs the requests that can run.
func (r *run) work() {
	for {
		q, ok := r.requests.Get(r.done + 1)
		if !ok {
			return
		}
		q.run()
		q.run = nil
		r.done++
	}
}

// abandon fails the requests that wait for a missing one, and all later ones.
func (r *run) abandon(err error) {
	r.gone = err
	for _, q := range r.requests.All() {
		if q.run != nil {
			q.fail(err)
			q.run = nil
		}
	}
}

// Info implements tinker.TrainingClient.
func (r *run) Info(context.Context) (tinker.ModelInfo, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.closed {
		return tinker.ModelInfo{}, errClosed()
	}
	if r.gone != nil {
		return tinker.ModelInfo{}, r.gone
	}
	return tinker.ModelInfo{ModelID: r.id, BaseModel: r.base.name, BaseDtype: "bf16", LoRA: r.lora,
		OptimizerType: r.state.Kind, NextSeqID: r.requests.Next()}, nil
}

// Forward implements tinker.TrainingClient.
func (r *run) Forward(ctx context.Context, req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return submit(ctx, r, req.SeqID, digestForward("forward", req),
		func() (tinker.ForwardOutput, error) { return r.forward(req, false) })
}

// ForwardBackward implements tinker.TrainingClient.
func (r *run) ForwardBackward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return submit(ctx, r, req.SeqID, digestForward("backward", req),
		func() (tinker.ForwardOutput, error) { return r.forward(req, true) })
}

// OptimStep implements tinker.TrainingClient.
func (r *run) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	return submit(ctx, r, req.SeqID, digestStep(req),
		func() (tinker.OptimStepOutput, error) { return r.state.step(req) })
}

// SaveState implements tinker.TrainingClient.
func (r *run) SaveState(ctx context.Context, req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return submit(ctx, r, req.SeqID, digestSave("state", req),
		func() (tinker.SaveOutput, error) { return r.save(tinker.KindState, req) })
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (r *run) SaveWeightsForSampler(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return submit(ctx, r, req.SeqID, digestSave("sampler", req),
		func() (tinker.SaveOutput, error) { return r.save(tinker.KindSampler, req) })
}

// LoadState implements tinker.TrainingClient.
func (r *run) LoadState(ctx context.Context, req tinker.LoadRequest) (*tinker.Future[tinker.LoadOutput], error) {
	return submit(ctx, r, req.SeqID, digestLoad(req), func() (tinker.LoadOutput, error) { return r.load(req) })
}
