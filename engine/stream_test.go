package engine

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// collect reads a stream to its end, and the samples that its tokens make.
func collect(t *testing.T, s *tinker.Stream, n int) tinker.SampleResponse {
	t.Helper()
	out := tinker.SampleResponse{Sequences: make([]tinker.SampledSequence, n)}
	for {
		some, err := s.Next(testContext(t))
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Error(err)
			return out
		}
		for _, d := range some {
			q := &out.Sequences[d.Sample]
			q.Tokens, q.Logprobs = append(q.Tokens, d.Token), append(q.Logprobs, d.Logprob)
			q.StopReason = d.Stop
		}
	}
}

// Streams of many requests at once, under preemption, give the samples that Sample gives alone.
func TestStreamsGiveTheSamplesOfSample(t *testing.T) {
	e := open(t, Options{CacheBytes: 100 << 10, MaxSequences: 7})
	c, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		r := sampleRequest(1+i%3, 5+7*(i%6), uint64(i), mixed[i%5])
		want := draw(t, c, r)
		wg.Go(func() {
			s, err := c.(tinker.Streamer).Stream(testContext(t), r)
			if err != nil {
				t.Error(err)
				return
			}
			if got := collect(t, s, r.NumSamples); !sameSamples(got, want) {
				t.Errorf("request %d: the stream is %+v, Sample %+v", i, got, want)
			}
		})
	}
	wg.Wait()
}

// Tokens are handed out in the step that draws them, and a reader that goes away ends its request before the next step
// and leaves no page behind.
func TestVanishedReaderEndsItsStream(t *testing.T) {
	e := open(t, Options{CacheBytes: 1 << 21})
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the reader is gone")
	for range 20 {
		ctx, cancel := context.WithCancelCause(context.Background())
		r := sampleRequest(4, 100, 1, mixed[0])
		r.Params.StopTokens, r.Params.NoStop = nil, true
		f, resolve := tinker.NewFuture[tinker.SampleResponse]()
		drawn := 0
		err := s.(*samplingClient).accept(ctx, r, resolve, func(tinker.Drawn) {
			if drawn++; drawn == 10 {
				cancel(gone)
			}
		})
		if err := failure(t, f, err); !errors.Is(err, gone) {
			t.Fatalf("the result is %v", err)
		}
		if drawn > 12 {
			t.Errorf("%d tokens were drawn; the reader was gone at the tenth, and a step draws 4", drawn)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if n := e.Stats(); n.Running != 0 || n.Waiting[tinker.Sampling] != (tinker.Queue{}) {
		t.Errorf("left behind: %d sequences, %+v", n.Running, n.Waiting[tinker.Sampling])
	}
	if c := cacheOf(e); c.Alloc(c.Limit(), false) == nil {
		t.Errorf("%d pages are still held", c.InUse())
	}
}
