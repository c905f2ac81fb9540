package tinker

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// Streamer is a SamplingClient that hands out tokens as it draws them. It is optional: a service behind the Tinker
// protocol has none, since that protocol returns whole answers. [OpenStream] works with both.
type Streamer interface {
	SamplingClient
	// Stream is Sample with the tokens as they are drawn, with the bits of the result. A reader that is
	// slow or has stopped delays no other request. When ctx ends, the request is cancelled as in Sample.
	Stream(ctx context.Context, req SampleRequest) (*Stream, error)
}

// Drawn is one token of a stream.
type Drawn struct {
	Sample  int   // index of the sample in the request
	Token   int32 // as in SampledSequence.Tokens
	Logprob float32
	Top     []TokenLogprob // as in SampledSequence.TopKLogprobs; read only
	Stop    StopReason     // why the sample ends with this token; "" if it continues
	Version string         // path of the weights where a Version begins with this token; else ""
}

// Stream is the tokens of one request while they are drawn. One goroutine reads it. It keeps tokens that were not read
// yet, at most the tokens of the result.
type Stream struct {
	result *Future[SampleResponse]
	wake   chan struct{} // holds one value when there may be fresh tokens

	mu     sync.Mutex
	fresh  []Drawn
	spare  []Drawn // the memory that the reader returned
	follow []func(Drawn)
	rest   time.Time // until then tokens do not wake the reader
}

// NewStream returns the stream of a request whose result is the future, and the function that adds a token to it. The
// function does not block. All tokens must be added before the future is resolved.
func NewStream(result *Future[SampleResponse]) (s *Stream, add func(Drawn)) {
	s = &Stream{result: result, wake: make(chan struct{}, 1)}
	return s, s.add
}

func (s *Stream) add(d Drawn) {
	s.mu.Lock()
	s.fresh = append(s.fresh, d)
	for _, f := range s.follow {
		f(d)
	}
	rests := d.Stop == "" && time.Now().Before(s.rest)
	s.mu.Unlock() // the reader that wakes needs it
	if rests {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Follow has f called with each token when it is drawn, whether it is read or not; first with those drawn already. It
// is called before Next. The service that draws calls f, one token after the other, and is delayed by it. All calls are
// over before the result is there. Several functions can follow a stream.
func (s *Stream) Follow(f func(Drawn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.fresh {
		f(d)
	}
	s.follow = append(s.follow, f)
}

// Next waits for tokens and returns all that were drawn since the last call, at least one, in the order in which they
// were drawn. They are valid until the next call. At the end the error is io.EOF, and Result has the result without
// waiting; if the request failed, it is the request's error. When ctx ends first, it is ctx's error.
func (s *Stream) Next(ctx context.Context) ([]Drawn, error) {
	for {
		if some := s.take(); len(some) > 0 {
			return some, nil
		}
		select {
		case <-s.wake:
		case <-s.result.Done():
			if some := s.take(); len(some) > 0 {
				return some, nil
			}
			if _, err := s.result.Wait(ctx); err != nil {
				return nil, err
			}
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// NextFrom is Next for a reader that does not want every token on its own. It waits for the first token that is drawn
// at or after from, for the end of a sample, or until the time until, and then returns all that were drawn, as Next
// does.
func (s *Stream) NextFrom(ctx context.Context, from, until time.Time) ([]Drawn, error) {
	s.setRest(from)
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case <-s.wake:
	case <-s.result.Done():
	case <-late.C:
	case <-ctx.Done():
	}
	s.setRest(time.Time{})
	return s.Next(ctx)
}

// setRest sets the time until which tokens do not wake the reader, those that it has not read yet too.
func (s *Stream) setRest(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = until
	ended := slices.ContainsFunc(s.fresh, func(d Drawn) bool { return d.Stop != "" })
	if ended || !time.Now().Before(until) {
		return
	}
	select {
	case <-s.wake:
	default:
	}
}

// take returns the fresh tokens.
func (s *Stream) take() []Drawn {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := s.fresh
	s.fresh, s.spare = s.spare[:0], some
	return some
}

// Result is the whole result of the request.
func (s *Stream) Result() *Future[SampleResponse] { return s.result }

// OpenStream streams a request from any client. The tokens of a client that is not a Streamer all come at the end,
// sample after sample.
func OpenStream(ctx context.Context, c SamplingClient, req SampleRequest) (*Stream, error) {
	if s, ok := c.(Streamer); ok {
		return s.Stream(ctx, req)
	}
	f, err := c.Sample(ctx, req)
	if err != nil {
		return nil, err
	}
	g, resolve := NewFuture[SampleResponse]()
	s, add := NewStream(g)
	go func() {
		<-f.Done()
		val, err := f.val, f.err
		if err == nil {
			err = val.streamable(max(1, req.NumSamples))
		}
		if err == nil {
			val.each(add)
		}
		resolve(val, err)
	}()
	return s, nil
}

// streamable checks that every sample that was asked for is there and has tokens with log-probabilities.
func (r SampleResponse) streamable(samples int) error {
	if len(r.Sequences) != samples {
		return Serverf("the service answered with %d samples instead of %d", len(r.Sequences), samples)
	}
	for _, q := range r.Sequences {
		n := len(q.Tokens)
		if n == 0 || len(q.Logprobs) != n || q.TopKLogprobs != nil && len(q.TopKLogprobs) != n {
			return Serverf("the service answered with a sample of %d tokens, %d log-probabilities and %d lists of "+
				"alternatives; there must be tokens, and one of each for a token", n, len(q.Logprobs),
				len(q.TopKLogprobs))
		}
	}
	return nil
}

// each calls add for the tokens of all samples.
func (r SampleResponse) each(add func(Drawn)) {
	for i, q := range r.Sequences {
		versions := q.Versions
		for j, token := range q.Tokens {
			d := Drawn{Sample: i, Token: token, Logprob: q.Logprobs[j]}
			if len(versions) > 0 && versions[0].From == j {
				d.Version, versions = versions[0].Path, versions[1:]
			}
			if q.TopKLogprobs != nil {
				d.Top = q.TopKLogprobs[j]
			}
			if j == len(q.Tokens)-1 {
				d.Stop = q.StopReason
			}
			add(d)
		}
	}
}
