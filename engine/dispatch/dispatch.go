// Package dispatch is the executor.Pool of the process that trains: it turns calls into opaque tasks, gives them to a
// carrier, and reads the answers. It knows neither how tasks travel nor where they are computed.
package dispatch

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Task is a call as a carrier sees it. Equal calls are equal tasks, whose answers have the same bytes.
type Task struct {
	Kind    string
	Needs   []Need // blobs that a worker must hold; it asks for those that it lacks
	Payload []byte
	Cost    float64 // expected work, in tokens of a forward
	Group   string  // tasks with the same beginning of a prompt
	Shared  float64 // the part of Cost that a worker saves if it has computed another task of the group

	// Check reports what is wrong with the form of an answer: the carrier returns none with which something is.
	Check func(answer []byte) error
}

// Need is a blob of a task.
type Need struct {
	Hash string
	Size int64
}

// Carrier takes tasks to workers. Its methods are safe for concurrent use.
type Carrier interface {
	// Do returns the answer to a task. It sends the task again when a worker is lost. An error is one that a worker
	// returned, or ctx's.
	Do(ctx context.Context, t Task) ([]byte, error)
	// Offer has blobs that workers ask for read by open, until Withdraw. A pool offers a hash again only after that.
	Offer(hash string, size int64, open func() (io.ReadCloser, error))
	Withdraw(hash string)
	// Room is how many more tasks workers would begin now, Workers how many there are, Speed their speed together.
	Room() int
	Workers() int
	Speed() float64
	// Changed returns a channel that is closed when one of these may have grown.
	Changed() <-chan struct{}
}

// Pool is an executor.Pool over a carrier.
type Pool struct {
	carrier Carrier

	mu      sync.Mutex
	speed   float64
	offered map[string][]*executor.Blob // by hash, the newest offer last
}

var _ executor.Pool = (*Pool)(nil)

// New returns a pool. speed is this process's, in the carrier's unit.
func New(c Carrier, speed float64) *Pool {
	return &Pool{carrier: c, speed: speed, offered: map[string][]*executor.Blob{}}
}

// Room, Executors, Speed and Changed are the carrier's.
func (p *Pool) Room() int                { return p.carrier.Room() }
func (p *Pool) Executors() int           { return p.carrier.Workers() }
func (p *Pool) Speed() float64           { return p.carrier.Speed() }
func (p *Pool) Changed() <-chan struct{} { return p.carrier.Changed() }

// OwnSpeed returns the speed that New or SetSpeed got.
func (p *Pool) OwnSpeed() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.speed
}

// SetSpeed sets the speed of this process.
func (p *Pool) SetSpeed(speed float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.speed = speed
}

// Offer implements executor.Pool. Versions with equal weights offer the same blob; the carrier sees one offer.
func (p *Pool) Offer(b executor.Blob) (withdraw func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offered[b.Hash] = append(p.offered[b.Hash], &b)
	if len(p.offered[b.Hash]) == 1 {
		p.carrier.Offer(b.Hash, b.Size, func() (io.ReadCloser, error) { return p.read(b.Hash) })
	}
	return sync.OnceFunc(func() { p.withdraw(&b) })
}

func (p *Pool) withdraw(b *executor.Blob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := slices.DeleteFunc(p.offered[b.Hash], func(o *executor.Blob) bool { return o == b })
	if p.offered[b.Hash] = left; len(left) == 0 {
		delete(p.offered, b.Hash)
		p.carrier.Withdraw(b.Hash)
	}
}

// read reads a blob by the newest offer that can: one fails as soon as its weights are not used any more.
func (p *Pool) read(hash string) (io.ReadCloser, error) {
	p.mu.Lock()
	offers := slices.Clone(p.offered[hash])
	p.mu.Unlock()
	err := fmt.Errorf("dispatch: blob %.12s is not offered any more", hash)
	for _, b := range slices.Backward(offers) {
		var r io.ReadCloser
		if r, err = b.Open(); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// Sample implements executor.Executor.
func (p *Pool) Sample(ctx context.Context, v executor.Version, s executor.Sample) ([]tinker.SampledSequence, error) {
	raw, err := p.do(ctx, executor.Task{Kind: executor.KindSample, Version: v, Sample: s}, func(raw []byte) error {
		_, err := executor.DecodeSamples(raw, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return executor.DecodeSamples(raw, s)
}

// Forward implements executor.Executor.
func (p *Pool) Forward(ctx context.Context, v executor.Version, b executor.Batch) ([]executor.Output, error) {
	outs, _, err := p.outputs(ctx, executor.Task{Kind: executor.KindForward, Version: v, Batch: b})
	return outs, err
}

// Gradient implements executor.Executor.
func (p *Pool) Gradient(ctx context.Context, v executor.Version,
	b executor.Batch) ([]executor.Output, executor.Gradient, error) {
	return p.outputs(ctx, executor.Task{Kind: executor.KindGradient, Version: v, Batch: b})
}

func (p *Pool) outputs(ctx context.Context, t executor.Task) ([]executor.Output, executor.Gradient, error) {
	raw, err := p.do(ctx, t, func(raw []byte) error { return executor.CheckOutputs(raw, t.Kind, t.Batch) })
	if err != nil {
		return nil, nil, err
	}
	return executor.DecodeOutputs(raw, t.Kind, t.Batch)
}

func (p *Pool) do(ctx context.Context, t executor.Task, check func([]byte) error) ([]byte, error) {
	payload, err := t.Encode()
	if err != nil {
		return nil, err
	}
	raw, err := p.carrier.Do(ctx, Task{Kind: string(t.Kind), Needs: p.needs(t), Payload: payload, Cost: cost(t),
		Group: group(t), Shared: float64(len(t.Sample.Prompt)), Check: check})
	if err != nil {
		return nil, fmt.Errorf("dispatch: %s: %w", t.Kind, err)
	}
	return raw, nil
}

// needs are the blobs of a task.
func (p *Pool) needs(t executor.Task) (list []Need) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, hash := range []string{t.Version.Manifest, t.Version.Params, t.Sample.Tokens} {
		if hash == "" {
			continue
		}
		n := Need{Hash: hash}
		if offers := p.offered[hash]; len(offers) > 0 {
			n.Size = offers[0].Size
		}
		list = append(list, n)
	}
	return list
}

// cost estimates a task's work. A backward takes twice as long as a forward. A token that is decoded alone would cost
// more, but samples are decoded together.
func cost(t executor.Task) float64 {
	if t.Kind == executor.KindSample {
		return float64(len(t.Sample.Prompt) + t.Sample.N*t.Sample.MaxTokens)
	}
	n := 0
	for _, d := range t.Batch.Data {
		n += d.ModelInput.Len()
	}
	if t.Kind == executor.KindGradient {
		n *= 3
	}
	return float64(n)
}

// groupTokens is the beginning of a prompt that makes a group.
const groupTokens = 256

func group(t executor.Task) string {
	if t.Kind != executor.KindSample {
		return ""
	}
	prefix := executor.Task{Kind: executor.KindSample, Version: t.Version,
		Sample: executor.Sample{Prompt: t.Sample.Prompt[:min(groupTokens, len(t.Sample.Prompt))]}}
	raw, err := prefix.Encode()
	if err != nil {
		return ""
	}
	return executor.HashOf(raw)[:16]
}
