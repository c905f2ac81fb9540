package journal

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// trainingClient is the durable TrainingClient of one training run.
type trainingClient struct {
	j       *Journal
	id      string
	created created
	logged  position // end of the record that creates it in the log

	snapping sync.Mutex // held during a snapshot, an eviction and a restore

	mu       sync.Mutex
	inner    tinker.TrainingClient                // nil while the model is evicted
	evicted  bool                                 // only the snapshot exists
	used     time.Time                            // time of the last request
	ops      *numbered.Requests[*acceptedRequest] // accepted, as far as their results are kept
	running  int                                  // requests without a result
	applied  int64                                // last SeqID in the snapshot on disk
	snapped  bool                                 // there is one
	compute  time.Duration                        // spent since that snapshot
	took     time.Duration                        // writing that snapshot
	bytes    int64                                // logged since that snapshot
	lastDone time.Time

	sending sync.WaitGroup                      // requests that are logged but not yet passed to the machine
	leaving *tinker.Future[tinker.UnloadOutput] // not nil once the model is unloaded or about to be
	gone    bool                                // the machine does not have it any more
	info    tinker.ModelInfo
	broken  error // why the snapshot cannot be read
	halted  error // why no later request is executed before the next start
}

func newTrainingClient(j *Journal, c created, inner tinker.TrainingClient) *trainingClient {
	return &trainingClient{j: j, id: c.ModelID, created: c, inner: inner,
		ops:  numbered.New[*acceptedRequest](c.ModelID),
		used: time.Now()}
}

// Info implements tinker.TrainingClient.
func (m *trainingClient) Info(context.Context) (tinker.ModelInfo, error) {
	if m.j.ctx.Err() != nil {
		return tinker.ModelInfo{}, tinker.ErrClosed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaving != nil {
		return m.info, m.errUnloaded()
	}
	if m.broken != nil {
		return m.info, m.unusable(m.broken)
	}
	info := m.info
	info.NextSeqID = m.ops.Next()
	return info, nil
}

// otherSettings is the error of creating the model again with other settings.
func (m *trainingClient) otherSettings(seq int64, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return tinker.Userf("journal: model %d of session %s was created with other settings: base model %q, rank %d, "+
		"train_attn %t, train_mlp %t, train_unembed %t; ask for the same, or use another "+
		"model_seq_id", seq, session, m.info.BaseModel, m.info.LoRA.Rank,
		m.info.LoRA.TrainAttn, m.info.LoRA.TrainMLP, m.info.LoRA.TrainUnembed)
}

// The operations by their names in the log.
const (
	opForward         = "forward"
	opForwardBackward = "forward_backward"
	opOptimStep       = "optim_step"
	opSaveState       = "save_state"
	opLoadState       = "load_state"
	opSaveSampler     = "save_weights_for_sampler"
)

// Forward implements tinker.TrainingClient.
func (m *trainingClient) Forward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return accept(m, opForward, &req, &req.SeqID, func() (*tinker.Future[tinker.ForwardOutput], error) {
		return m.inner.Forward(m.j.ctx, req)
	})
}

// ForwardBackward implements tinker.TrainingClient.
func (m *trainingClient) ForwardBackward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return accept(m, opForwardBackward, &req, &req.SeqID,
		func() (*tinker.Future[tinker.ForwardOutput], error) { return m.inner.ForwardBackward(m.j.ctx, req) })
}

// OptimStep implements tinker.TrainingClient.
func (m *trainingClient) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	return accept(m, opOptimStep, &req, &req.SeqID, func() (*tinker.Future[tinker.OptimStepOutput], error) {
		return m.inner.OptimStep(m.j.ctx, req)
	})
}

// SaveState implements tinker.TrainingClient.
func (m *trainingClient) SaveState(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return accept(m, opSaveState, &req, &req.SeqID, func() (*tinker.Future[tinker.SaveOutput], error) {
		return m.inner.SaveState(m.j.ctx, req)
	})
}

// LoadState implements tinker.TrainingClient.
func (m *trainingClient) LoadState(ctx context.Context,
	req tinker.LoadRequest) (*tinker.Future[tinker.LoadOutput], error) {
	return accept(m, opLoadState, &req, &req.SeqID, func() (*tinker.Future[tinker.LoadOutput], error) {
		return m.inner.LoadState(m.j.ctx, req)
	})
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (m *trainingClient) SaveWeightsForSampler(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return accept(m, opSaveSampler, &req, &req.SeqID, func() (*tinker.Future[tinker.SaveOutput], error) {
		return m.inner.SaveWeightsForSampler(m.j.ctx, req)
	})
}

// accept numbers a request, makes it durable and passes it on; req and seq point into what send will send.
func accept[T any](m *trainingClient, name string, req any, seq *int64,
	send func() (*tinker.Future[T], error)) (*tinker.Future[T], error) {
	if *seq < 0 {
		return nil, tinker.Userf("journal: seq_id %d; numbers begin at 1", *seq)
	}
	if m.j.ctx.Err() != nil {
		return nil, tinker.ErrClosed
	}
	if err := m.lockLoaded(); err != nil {
		return nil, err
	}
	if m.halted != nil {
		defer m.mu.Unlock()
		return nil, m.halted
	}
	*seq = m.ops.Number(*seq)
	raw, err := json.Marshal(req)
	if err != nil {
		m.mu.Unlock()
		return nil, tinker.Userf("journal: %s request: %w", name, err)
	}
	if _, kept := m.ops.Get(*seq); !kept && m.leaving != nil {
		m.mu.Unlock()
		return nil, m.errUnloaded()
	}
	hash := sha256.Sum256(raw)
	if f, logged, err := repeated[T](m, name, *seq, hash); f != nil || err != nil {
		m.mu.Unlock()
		if err == nil {
			err = logged.sync() // the first one may not be on the disk yet
		}
		return f, err
	}
	at, err := m.append(name, *seq, raw)
	if err != nil {
		m.mu.Unlock()
		return nil, err
	}
	f, resolve := tinker.NewFuture[T]()
	o := &acceptedRequest{name: name, hash: hash, logged: at, future: f, noted: make(chan struct{})}
	m.ops.Accept(*seq, o)
	m.running++
	m.sending.Add(1)
	m.used = time.Now()
	m.mu.Unlock()
	forward := func() {
		defer m.sending.Done()
		inner, err := send()
		if err != nil {
			inner = tinker.Resolved(*new(T), tinker.Brief(err))
		}
		watch(m, o, *seq, inner, resolve)
	}
	if err := at.sync(); err != nil {
		m.later(o, at, forward, func(err error) { resolve(*new(T), err) })
		return nil, err
	}
	forward()
	return f, nil
}

// later passes a request on when the log can be written again. The caller got an error and may repeat the request.
func (m *trainingClient) later(o *acceptedRequest, at position, forward func(), fail func(error)) {
	m.j.background.Go(func() {
		if err := at.log.Await(m.j.ctx, at.at); err != nil {
			close(o.noted)
			fail(err)
			m.sending.Done()
			return
		}
		forward()
	})
}

// repeated finds the future of a request that was accepted before, and where in the log it ends; nil if there was none.
// m.mu is held.
func repeated[T any](m *trainingClient, name string, seq int64,
	hash [32]byte) (f *tinker.Future[T], logged position, err error) {
	same := func(o *acceptedRequest) (ok bool) {
		f, ok = o.future.(*tinker.Future[T])
		return ok && o.name == name && o.hash == hash
	}
	if o, kept := m.ops.Get(seq); kept {
		if err := m.spent(o, seq, !same(o)); err != nil {
			return nil, logged, err
		}
	}
	o, found, err := m.ops.Repeated(seq, m.applied, same)
	if err != nil {
		return nil, logged, tinker.Userf("journal: %w", err)
	}
	if found {
		logged = o.logged
	}
	return f, logged, nil
}

// append logs a request. m.mu is held, so that the log has a model's requests in the order of their numbers and a
// crash leaves no gap.
func (m *trainingClient) append(name string, seq int64, raw []byte) (position, error) {
	m.bytes += int64(len(raw))
	return m.j.log.append(recOp, operation{ModelID: m.id, SeqID: seq, Name: name, Request: raw})
}

func (m *trainingClient) dirty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops.Next()-1 > m.applied && m.leaving == nil && m.halted == nil
}

func (m *trainingClient) busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running > 0
}
