package budget

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The pilot measures how long answers are: it takes about pilotSamples samples and at most pilotTime, or the time until
// the deadline of its context. A pilot that takes longer is discarded, as the answers that are finished by then are the
// short ones.
const (
	pilotSamples = 128
	pilotTasks   = 8 // at least, however many samples each has
	pilotTime    = 20 * time.Second
)

// counting counts what a sampler writes.
type counting struct {
	tinker.SamplingClient
	sampled atomic.Int64
}

// Sample implements tinker.SamplingClient.
func (c *counting) Sample(ctx context.Context, req tinker.SampleRequest) (
	*tinker.Future[tinker.SampleResponse], error) {
	f, err := c.SamplingClient.Sample(ctx, req)
	if err != nil {
		return nil, err
	}
	r, err := f.Wait(ctx) // a pilot has no hurry
	if err != nil {
		return nil, err
	}
	for _, q := range r.Sequences {
		c.sampled.Add(int64(len(q.Tokens)))
	}
	return f, nil
}

// trial is the result of some tasks.
type trial struct {
	samples     int   // repetitions
	sampled     int64 // tokens
	experiences int64
	tokens      int64 // of them, prompts included
	took        time.Duration
}

// Pilot runs some tasks with the model as it is, and notes how long answers are. Where that takes too long, or fails,
// the budget keeps its bounds alone.
func (p *Plan) Pilot(ctx context.Context, b *Budget, client tinker.SamplingClient) error {
	t, err := p.runSome(ctx, &counting{SamplingClient: client})
	if err != nil || t.experiences == 0 {
		return ctx.Err() // it takes too long, or the tasks fail, which the run will tell
	}
	b.Tried = t.samples
	b.Sampled = int64(math.Round(float64(t.sampled) / float64(t.samples) * float64(b.Samples)))
	b.Trained = int64(math.Round(float64(t.tokens) / float64(t.experiences) * float64(p.TrainBatch)))
	if t.sampled > 0 && t.took > 0 {
		b.Rates.Sampled = float64(t.sampled) / t.took.Seconds() // with the prompts, which it takes time to read
	}
	return nil
}

// runSome runs about pilotSamples repetitions of tasks all over the run.
func (p *Plan) runSome(ctx context.Context, client *counting) (t trial, err error) {
	repeat := max(1, p.Repeat)
	tasks, err := p.some(max(pilotTasks, (pilotSamples+repeat-1)/repeat))
	if err != nil {
		return t, err
	}
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, pilotTime)
		defer cancel()
	}
	var tokens, experiences atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	begin := time.Now()
	for _, task := range tasks {
		task.Repeat = repeat
		g.Go(func() error {
			w, r := p.Tasks.Way(task)
			r.Sampler = client
			list, err := w.Run(gctx, &r, task)
			if err != nil {
				return err
			}
			for _, e := range list {
				tokens.Add(int64(len(e.Tokens)))
				experiences.Add(1)
			}
			return nil
		})
	}
	err = g.Wait()
	return trial{samples: len(tasks) * repeat, sampled: client.sampled.Load(), experiences: experiences.Load(),
		tokens: tokens.Load(), took: time.Since(begin)}, err
}
