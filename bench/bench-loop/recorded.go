package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// recorded is a server backend that answers immediately with recorded results. The engine draws the first request for a
// prompt from the base weights; later requests get the same sequences. A forward of such a sequence returns the
// logprobs of its sample. Weights never change. So a loop over it waits only for the network and for itself.
type recorded struct {
	tinker.Service // the engine
	sampler        tinker.SamplingClient
	seed           maphash.Seed

	mu      sync.Mutex
	prompts map[uint64]*answers
	scores  map[uint64][]float32 // of a sequence's tokens: the logprobs of its last ones
	models  map[string]*recordedModel
	saved   map[string]tinker.Checkpoint
}

// answers are the continuations of one prompt.
type answers struct {
	once sync.Once
	list []tinker.SampledSequence
	err  error
	next atomic.Int64
}

// kept is the number of continuations that the engine draws for a prompt.
const kept = 8

// newRecorded makes a backend with one base model, the folder, whose path is its name. Checkpoints are below dir.
func newRecorded(ctx context.Context, folder, dir string) (*recorded, error) {
	seed := uint64(1)
	e, err := engine.Open(engine.Options{Dir: dir, Models: map[string]engine.Model{folder: {Dir: folder}}, Seed: &seed})
	if err != nil {
		return nil, err
	}
	s, err := e.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: folder})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return &recorded{Service: e, sampler: s, seed: maphash.MakeSeed(), prompts: map[uint64]*answers{},
		scores: map[uint64][]float32{}, models: map[string]*recordedModel{}, saved: map[string]tinker.Checkpoint{}}, nil
}

func (r *recorded) hash(parts ...[]int32) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, tokens := range parts {
		for _, t := range tokens {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], uint32(t))
			h.Write(b[:])
		}
	}
	return h.Sum64()
}

// SamplingClient implements tinker.Service, for any weights.
func (r *recorded) SamplingClient(context.Context, tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	return r, nil
}

// Sample implements tinker.SamplingClient.
func (r *recorded) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	prompt := req.Prompt.Chunks[0].Tokens
	for _, c := range req.Prompt.Chunks[1:] {
		prompt = append(prompt[:len(prompt):len(prompt)], c.Tokens...)
	}
	r.mu.Lock()
	a := r.prompts[r.hash(prompt)]
	if a == nil {
		a = &answers{}
		r.prompts[r.hash(prompt)] = a
	}
	r.mu.Unlock()
	a.once.Do(func() { a.list, a.err = r.draw(ctx, prompt, req) })
	if a.err != nil {
		return nil, a.err
	}
	var out tinker.SampleResponse
	for range req.NumSamples {
		out.Sequences = append(out.Sequences, a.list[int(a.next.Add(1)-1)%len(a.list)])
	}
	return tinker.Resolved(out, nil), nil
}

// draw asks the engine.
func (r *recorded) draw(ctx context.Context, prompt []int32,
	req tinker.SampleRequest) ([]tinker.SampledSequence, error) {
	req.NumSamples = kept
	f, err := r.sampler.Sample(ctx, req)
	if err != nil {
		return nil, err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range out.Sequences {
		r.scores[r.hash(prompt, q.Tokens)] = q.Logprobs
	}
	return out.Sequences, nil
}

// CreateModel implements tinker.Service.
func (r *recorded) CreateModel(_ context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := fmt.Sprintf("%s:train:%d", req.SessionID, req.ModelSeqID)
	m := r.models[id]
	if m == nil {
		m = &recordedModel{of: r, info: tinker.ModelInfo{ModelID: id, BaseModel: req.BaseModel, LoRA: req.LoRA,
			NextSeqID: 1}, futures: map[int64]any{}}
		r.models[id] = m
	}
	return m, nil
}

// DeleteCheckpoint implements tinker.Service.
func (r *recorded) DeleteCheckpoint(_ context.Context, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.saved, path)
	return nil
}

// UnloadModel implements tinker.Unloader.
func (r *recorded) UnloadModel(_ context.Context, modelID string) (*tinker.Future[tinker.UnloadOutput], error) {
	return tinker.Resolved(tinker.UnloadOutput{ModelID: modelID}, nil), nil
}

// OpenModel implements server.Backend.
func (r *recorded) OpenModel(_ context.Context, modelID string) (tinker.TrainingClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.models[modelID]; m != nil {
		return m, nil
	}
	return nil, tinker.ErrNotFound
}

// Accepted implements server.Backend.
func (r *recorded) Accepted(modelID string, seqID int64) bool {
	_, accepted := r.Lookup(modelID, seqID)
	return accepted
}

// Evict implements server.Backend: nothing leaves memory.
func (r *recorded) Evict(string) error { return nil }

// EvictOldest implements server.Backend.
func (r *recorded) EvictOldest() (bool, error) { return false, nil }

// Heal implements server.Backend.
func (r *recorded) Heal() error { return nil }

// Lookup implements server.Backend.
func (r *recorded) Lookup(modelID string, seqID int64) (future any, accepted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.models[modelID]
	if m == nil {
		return nil, false
	}
	f, ok := m.futures[seqID]
	return f, ok
}

// Checkpoints implements server.Store.
func (r *recorded) Checkpoints(context.Context) (list []tinker.Checkpoint, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.saved {
		list = append(list, c)
	}
	return list, nil
}

// Checkpoint implements server.Store.
func (r *recorded) Checkpoint(path string) (tinker.Checkpoint, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.saved[path]
	if !ok {
		return c, fmt.Errorf("%s: %w", path, tinker.ErrNotFound)
	}
	return c, nil
}

// Folder implements server.Store.
func (r *recorded) Folder(path string) (string, error) {
	return "", fmt.Errorf("%s: %w", path, tinker.ErrNotFound)
}

// recordedModel is a training run that never learns.
type recordedModel struct {
	tinker.TrainingClient
	of      *recorded
	info    tinker.ModelInfo
	futures map[int64]any // by SeqID
}

// Info implements tinker.TrainingClient.
func (m *recordedModel) Info(context.Context) (tinker.ModelInfo, error) {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	return m.info, nil
}

// accepted notes a request's result under its number.
func accepted[T any](m *recordedModel, seq int64, v T) *tinker.Future[T] {
	f := tinker.Resolved(v, nil)
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if seq == 0 {
		seq = m.info.NextSeqID
	}
	m.futures[seq] = f
	m.info.NextSeqID = max(m.info.NextSeqID, seq+1)
	return f
}

// ForwardBackward implements tinker.TrainingClient. Logprobs of prompts were never requested and are 0.
func (m *recordedModel) ForwardBackward(_ context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	out := tinker.ForwardOutput{Metrics: map[string]float64{"loss:sum": 0}}
	for _, d := range req.Data {
		targets := d.LossFnInputs[tinker.TargetTokens].Int
		var tokens []int32
		for _, c := range d.ModelInput.Chunks {
			tokens = append(tokens, c.Tokens...)
		}
		m.of.mu.Lock()
		known, ok := m.of.scores[m.of.hash(tokens, []int32{int32(targets[len(targets)-1])})]
		m.of.mu.Unlock()
		if !ok {
			return nil, tinker.Userf("recorded: %d tokens that were never given out", len(tokens)+1)
		}
		logprobs := make([]float32, len(targets))
		copy(logprobs[len(logprobs)-len(known):], known)
		out.LossFnOutputs = append(out.LossFnOutputs,
			map[string]tinker.Tensor{tinker.Logprobs: {Shape: []int{len(logprobs)}, Float: logprobs}})
	}
	return accepted(m, req.SeqID, out), nil
}

// Forward implements tinker.TrainingClient.
func (m *recordedModel) Forward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return m.ForwardBackward(ctx, req)
}

// OptimStep implements tinker.TrainingClient.
func (m *recordedModel) OptimStep(_ context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	return accepted(m, req.SeqID, tinker.OptimStepOutput{Metrics: map[string]float64{"grad_norm": 0}}), nil
}

// SaveState implements tinker.TrainingClient.
func (m *recordedModel) SaveState(_ context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return m.save(req, tinker.KindState)
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (m *recordedModel) SaveWeightsForSampler(_ context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return m.save(req, tinker.KindSampler)
}

func (m *recordedModel) save(req tinker.SaveRequest, kind tinker.Kind) (*tinker.Future[tinker.SaveOutput], error) {
	p := tinker.Path{ModelID: m.info.ModelID, Kind: kind, Name: req.Name}
	m.of.mu.Lock()
	m.of.saved[p.String()] = tinker.Checkpoint{Path: p, BaseModel: m.info.BaseModel, LoRA: m.info.LoRA}
	m.of.mu.Unlock()
	return accepted(m, req.SeqID, tinker.SaveOutput{Path: p.String()}), nil
}
