package tinkertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// stream: OpenStream gives the tokens of Sample, with the same bits, and then the same result.
func (s *suite) stream() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	r := request(3, 12, 21, some...)
	r.TopKSampleLogprobs = 2
	want := s.draw(c, r)
	got, whole := s.read(c, r)
	for i, q := range want.Sequences {
		if err := sameSequence(got[i], q); err != nil {
			s.Errorf("sample %d of the stream: %v", i, err)
		}
		if err := sameSequence(whole.Sequences[i], q); err != nil {
			s.Errorf("sample %d of the stream's result: %v", i, err)
		}
	}
	gone := errors.New("the reader is gone")
	ctx, cancel := context.WithCancelCause(s.ctx)
	cancel(gone)
	if _, err := tinker.OpenStream(ctx, c, r); !errors.Is(err, gone) {
		s.Errorf("OpenStream under an ended context: %v", err)
	}
	r.Params.TopP = 2
	stream, err := tinker.OpenStream(s.ctx, c, r)
	if err == nil {
		_, err = stream.Next(s.ctx)
	}
	s.wantUser("top_p 2", err)
}

// cancel: when a sample's context ends, so does the sample, with the context's error; others continue.
func (s *suite) cancel() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	gone := errors.New("the caller is gone")
	ctx, cancel := context.WithCancelCause(s.ctx)
	f, err := c.Sample(ctx, request(400, 100, 5, some...))
	if err != nil {
		s.Fatal(err)
	}
	cancel(gone)
	if _, err := f.Wait(s.ctx); !errors.Is(err, gone) {
		s.Errorf("a sample without a caller: %v", err)
	}
	s.draw(c, request(1, 4, 5, some...))
}

// read reads a stream to its end.
func (s *suite) read(c tinker.SamplingClient, r tinker.SampleRequest) ([]tinker.SampledSequence,
	tinker.SampleResponse) {
	s.Helper()
	stream, err := tinker.OpenStream(s.ctx, c, r)
	if err != nil {
		s.Fatalf("OpenStream: %v", err)
	}
	got := make([]tinker.SampledSequence, r.NumSamples)
	for {
		some, err := stream.Next(s.ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.Fatalf("Next: %v", err)
		}
		for _, d := range some {
			q := &got[d.Sample]
			if q.StopReason != "" {
				s.Errorf("sample %d continues after its end", d.Sample)
			}
			q.Tokens, q.Logprobs = append(q.Tokens, d.Token), append(q.Logprobs, d.Logprob)
			q.TopKLogprobs, q.StopReason = append(q.TopKLogprobs, d.Top), d.Stop
		}
	}
	return got, wait(s, stream.Result(), nil)
}

// sameSequence returns an error if two samples differ in a token or a bit.
func sameSequence(got, want tinker.SampledSequence) error {
	same := func(a, b tinker.TokenLogprob) bool {
		return a.Token == b.Token && math.Float32bits(a.Logprob) == math.Float32bits(b.Logprob)
	}
	if slices.Equal(got.Tokens, want.Tokens) && sameBits(got.Logprobs, want.Logprobs) &&
		got.StopReason == want.StopReason && slices.EqualFunc(got.TopKLogprobs, want.TopKLogprobs,
		func(a, b []tinker.TokenLogprob) bool { return slices.EqualFunc(a, b, same) }) {
		return nil
	}
	return fmt.Errorf("%+v, want %+v", got, want)
}
