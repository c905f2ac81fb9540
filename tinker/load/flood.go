package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Flood is how one tenant floods a service while another one asks for small samples.
type Flood struct {
	Trainers int // runs of the flood; each has Ahead batches outstanding
	Datums   int // of a batch
	Tokens   int // of a datum
	Ahead    int
	Samples  int // samples of the flood that are outstanding
	Small    int // small samples, one after another, first alone and then beside the flood
}

// FloodResult is the times of the small samples, and the work of the flood meanwhile.
type FloodResult struct {
	Alone, Beside  Times
	Batches, Drawn int // batches trained and samples drawn for the flood
}

// smallTokens is the number of tokens of a small sample.
const smallTokens = 16

// Flood measures the small samples of l while flood, the same service under another key, floods it.
func (l *Load) Flood(ctx context.Context, flood *Load, f Flood) (FloodResult, error) {
	out := FloodResult{}
	c, err := l.svc.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: l.base})
	if err != nil {
		return out, err
	}
	alone, err := small(ctx, c, f.Small, &out.Alone)
	if err != nil {
		return out, err
	}
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &flooding{l: flood, Flood: f, ready: make(chan struct{})}
	flowing := make(chan error, 1)
	go func() { flowing <- w.run(stop) }()
	select {
	case <-w.ready:
	case err := <-flowing:
		return out, err
	}
	beside, err := small(ctx, c, f.Small, &out.Beside)
	cancel()
	if over := <-flowing; err == nil && !errors.Is(over, context.Canceled) {
		err = over
	}
	out.Batches, out.Drawn = int(w.batches.Load()), int(w.drawn.Load())
	if err == nil && l.exact && alone != beside {
		err = fmt.Errorf("load: beside a flood a sample is %s, alone it was %s", beside, alone)
	}
	return out, err
}

// small draws n small samples, one after another, records the time of each, and returns the last one's bits.
func small(ctx context.Context, c tinker.SamplingClient, n int, times *Times) (last string, err error) {
	req := sampleRequest(0)
	req.Params.MaxTokens = smallTokens
	for range n {
		begun := time.Now()
		r, err := tinker.Sample(ctx, c, req)
		if err != nil {
			return "", err
		}
		times.Add(time.Since(begun))
		last = bits(r)
	}
	return last, nil
}

// bits returns samples as text that shows every bit.
func bits(r tinker.SampleResponse) string {
	var b strings.Builder
	for _, q := range r.Sequences {
		fmt.Fprintf(&b, "%v %x ", q.Tokens, q.Logprobs)
	}
	return b.String()
}

// flooding is a flood in progress. It is ready when every run has trained a batch and the first samples have all been
// accepted.
type flooding struct {
	Flood
	l              *Load
	ready          chan struct{}
	once           sync.Once
	begun          atomic.Int64
	batches, drawn atomic.Int64
}

func (w *flooding) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range w.Trainers {
		g.Go(func() error { return w.train(ctx, i) })
	}
	for i := range w.Samples {
		g.Go(func() error { return w.sample(ctx, i) })
	}
	return g.Wait()
}

// started counts a run or sample that has begun.
func (w *flooding) started() {
	if w.begun.Add(1) == int64(w.Trainers+w.Samples) {
		w.once.Do(func() { close(w.ready) })
	}
}

// train keeps Ahead batches of one run outstanding, with an optimizer step after each.
func (w *flooding) train(ctx context.Context, i int) error {
	m, err := w.l.run(ctx)
	if err != nil {
		return err
	}
	data := make([]tinker.Datum, w.Datums)
	for k := range data {
		data[k] = datum(w.Tokens, i+k)
	}
	adam := tinker.DefaultAdam()
	var results []*tinker.Future[tinker.ForwardOutput]
	for step := int64(0); ctx.Err() == nil; step++ {
		f, err := m.ForwardBackward(ctx, tinker.ForwardRequest{SeqID: 2*step + 1, LossFn: tinker.CrossEntropy,
			Data: data})
		if err != nil {
			return err
		}
		if _, err := m.OptimStep(ctx, tinker.OptimStepRequest{SeqID: 2*step + 2, Adam: adam}); err != nil {
			return err
		}
		if results = append(results, f); len(results) < w.Ahead {
			continue
		}
		if step == int64(w.Ahead-1) {
			w.started()
		}
		if _, err := results[0].Wait(ctx); err != nil {
			return err
		}
		results = results[1:]
		w.batches.Add(1)
	}
	return ctx.Err()
}

// sample keeps one sample outstanding.
func (w *flooding) sample(ctx context.Context, i int) error {
	c, err := w.l.svc.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: w.l.base})
	if err != nil {
		return err
	}
	for n := 0; ctx.Err() == nil; n++ {
		f, err := c.Sample(ctx, sampleRequest(i))
		if err != nil {
			return err
		}
		if n == 0 {
			w.started()
		}
		if _, err := f.Wait(ctx); err != nil {
			return err
		}
		w.drawn.Add(1)
	}
	return ctx.Err()
}
