package training

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/queue"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Run is one training run: a tinker.TrainingClient. The slices of a request must not be changed before its
// result is there.
type Run struct {
	t         *Trainer
	id        string
	created   queue.Digest // of the request that made it
	owner     string
	optimizer string // as CreateModelRequest.OptimizerType
	promised  bool   // it was accepted before
	weights.Shape
	State  // for the queue's goroutine, and for the compute loop while that goroutine waits for it
	q      *queue.Queue
	member *compute.Member // of the compute loop
	held   *weights.Hold   // of its base model's weights
}

// newRun makes a run without a state, for requests of an owner.
func (t *Trainer) newRun(id, owner string, created queue.Digest, promised bool) *Run {
	return &Run{t: t, id: id, created: created, owner: owner, promised: promised}
}

// serve makes the run, which has executed the requests up to done, accept more.
func (r *Run) serve(done int64) {
	r.optimizer = r.opt.noted()
	r.member = compute.NewMember(r.id, r.owner, r.Full())
	r.q = queue.New(queue.Options{ID: r.id, Owner: r.owner, Start: r.t.Group.Start, Idle: r.rest, Backlog: r.t.Backlog,
		Keep: r.t.KeepResults, KeepBytes: r.t.KeepBytes}, done)
}

// rest is called when no request follows at once.
func (r *Run) rest() {
	r.t.Memory.Touch(r.Base)
	r.idle()
}

// idle tells the compute loop that no job is about to arrive.
func (r *Run) idle() { r.t.Loop.Idle(r.member) }

// Release gives back the run's memory; it must not be used afterwards.
func (r *Run) Release() {
	r.State = State{}
	r.t.Memory.Release(r.id)
	r.held.End()
}

// ID is the id of the run's model.
func (r *Run) ID() string { return r.id }

// CreatedBy is the digest of the request that made the run.
func (r *Run) CreatedBy() queue.Digest { return r.created }

// Close fails the requests that have not begun.
func (r *Run) Close() { r.q.Close() }

// Retire accepts no more requests, and calls f when every request that can run has run. f gets an error if the engine
// closes before that.
func (r *Run) Retire(f func(error)) { r.q.Retire(f) }

// Info implements tinker.TrainingClient.
func (r *Run) Info(context.Context) (tinker.ModelInfo, error) {
	next, err := r.q.Next()
	if err != nil {
		return tinker.ModelInfo{}, err
	}
	return tinker.ModelInfo{ModelID: r.id, BaseModel: r.Base.Name, BaseDtype: baseOf(r.Base.Config.Frozen),
		LoRA: r.LoRA, OptimizerType: r.optimizer, NextSeqID: next}, nil
}

// Forward implements tinker.TrainingClient.
func (r *Run) Forward(ctx context.Context, req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return queue.Submit(ctx, r.q, req.SeqID, queue.NewHasher("forward").Forward(req), inputTokens(req),
		func() (tinker.ForwardOutput, error) { return r.forward(req, false) }, sizeOfForward)
}

// ForwardBackward implements tinker.TrainingClient.
func (r *Run) ForwardBackward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return queue.Submit(ctx, r.q, req.SeqID, queue.NewHasher("forward_backward").Forward(req), inputTokens(req),
		func() (tinker.ForwardOutput, error) { return r.forward(req, true) }, sizeOfForward)
}

func inputTokens(req tinker.ForwardRequest) (n int) {
	for _, d := range req.Data {
		n += d.ModelInput.Len()
	}
	return n
}

func sizeOfForward(o tinker.ForwardOutput) int64 {
	n := int64(256)
	for _, rec := range o.LossFnOutputs {
		for _, t := range rec {
			n += 128 + int64(4*len(t.Float)+8*len(t.Int))
		}
	}
	return n
}

func sizeOfSmall[T any](T) int64 { return 512 }

// OptimStep implements tinker.TrainingClient.
func (r *Run) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	return queue.Submit(ctx, r.q, req.SeqID, queue.NewHasher("optim_step").Step(req), 0,
		func() (tinker.OptimStepOutput, error) { return r.step(req) }, sizeOfSmall)
}

// SaveState implements tinker.TrainingClient.
func (r *Run) SaveState(ctx context.Context, req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return queue.Submit(ctx, r.q, req.SeqID, queue.NewHasher("save_state").Save(req), 0,
		func() (tinker.SaveOutput, error) { r.idle(); return r.save(req, tinker.KindState) }, sizeOfSmall)
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (r *Run) SaveWeightsForSampler(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return queue.Submit(ctx, r.q, req.SeqID, queue.NewHasher("save_weights_for_sampler").Save(req), 0,
		func() (tinker.SaveOutput, error) { r.idle(); return r.save(req, tinker.KindSampler) }, sizeOfSmall)
}

// LoadState implements tinker.TrainingClient.
func (r *Run) LoadState(ctx context.Context, req tinker.LoadRequest) (*tinker.Future[tinker.LoadOutput], error) {
	return queue.Submit(ctx, r.q, req.SeqID, queue.NewHasher("load_state").Load(req.Path, req.Optimizer), 0,
		func() (tinker.LoadOutput, error) { r.idle(); return r.load(req) }, sizeOfSmall)
}
