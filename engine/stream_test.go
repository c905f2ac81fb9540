package engine

import (
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
