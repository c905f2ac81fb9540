package engine

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// trainingRun is one training run: a tinker.TrainingClient. The slices of a request must not be changed before its
// result is there.
type trainingRun struct {
	t         *trainer
	id        string
	created   digest // of the request that made it
	owner     string
	optimizer string // as CreateModelRequest.OptimizerType
	promised  bool   // it was accepted before
	shape
	trainingState // for the queue's goroutine, and for the compute loop while that goroutine waits for it
	q             *queue
	member        *member    // of the compute loop
	held          *memoryUse // of its base model's weights
}

// newRun makes a run without a state, for requests of an owner.
func (t *trainer) newRun(id, owner string, created digest, promised bool) *trainingRun {
	return &trainingRun{t: t, id: id, created: created, owner: owner, promised: promised}
}

// serve makes the run, which has executed the requests up to done, accept more.
func (r *trainingRun) serve(done int64) {
	r.optimizer = r.opt.noted()
	r.member = newMember(r.id, r.owner, r.full())
	r.q = newQueue(queueOptions{id: r.id, owner: r.owner, start: r.t.group.start, idle: r.rest, backlog: r.t.backlog,
		keep: r.t.keepResults, keepBytes: r.t.keepBytes}, done)
}

// rest is called when no request follows at once.
func (r *trainingRun) rest() {
	r.t.memory.touch(r.base)
	r.idle()
}

// idle tells the compute loop that no job is about to arrive.
func (r *trainingRun) idle() { r.t.loop.idle(r.member) }

// release gives back the run's memory; it must not be used afterwards.
func (r *trainingRun) release() {
	r.trainingState = trainingState{}
	r.t.memory.release(r.id)
	r.held.end()
}

// modelID is the id of the run's model.
func (r *trainingRun) modelID() string { return r.id }

// createdBy is the digest of the request that made the run.
func (r *trainingRun) createdBy() digest { return r.created }

// close fails the requests that have not begun.
func (r *trainingRun) close() { r.q.close() }

// retire accepts no more requests, and calls f when every request that can run has run. f gets an error if the engine
// closes before that.
func (r *trainingRun) retire(f func(error)) { r.q.retire(f) }

// Info implements tinker.TrainingClient.
func (r *trainingRun) Info(context.Context) (tinker.ModelInfo, error) {
	next, err := r.q.next()
	if err != nil {
		return tinker.ModelInfo{}, err
	}
	return tinker.ModelInfo{ModelID: r.id, BaseModel: r.base.name, LoRA: r.lora, OptimizerType: r.optimizer,
		NextSeqID: next}, nil
}

// Forward implements tinker.TrainingClient.
func (r *trainingRun) Forward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return submit(ctx, r.q, req.SeqID, newHasher("forward").forward(req), inputTokens(req),
		func() (tinker.ForwardOutput, error) { return r.forward(req, false) }, sizeOfForward)
}

// ForwardBackward implements tinker.TrainingClient.
func (r *trainingRun) ForwardBackward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return submit(ctx, r.q, req.SeqID, newHasher("forward_backward").forward(req), inputTokens(req),
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
func (r *trainingRun) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	return submit(ctx, r.q, req.SeqID, newHasher("optim_step").step(req), 0,
		func() (tinker.OptimStepOutput, error) { return r.step(req) }, sizeOfSmall)
}

// SaveState implements tinker.TrainingClient.
func (r *trainingRun) SaveState(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return submit(ctx, r.q, req.SeqID, newHasher("save_state").save(req), 0,
		func() (tinker.SaveOutput, error) { r.idle(); return r.save(req, tinker.KindState) }, sizeOfSmall)
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (r *trainingRun) SaveWeightsForSampler(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return submit(ctx, r.q, req.SeqID, newHasher("save_weights_for_sampler").save(req), 0,
		func() (tinker.SaveOutput, error) { r.idle(); return r.save(req, tinker.KindSampler) }, sizeOfSmall)
}

// LoadState implements tinker.TrainingClient.
func (r *trainingRun) LoadState(ctx context.Context,
	req tinker.LoadRequest) (*tinker.Future[tinker.LoadOutput], error) {
	return submit(ctx, r.q, req.SeqID, newHasher("load_state").load(req.Path, req.Optimizer), 0,
		func() (tinker.LoadOutput, error) { r.idle(); return r.load(req) }, sizeOfSmall)
}
