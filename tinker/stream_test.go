package tinker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A follower hears every token once, in order, also those drawn before it came and those that nobody reads.
func TestFollow(t *testing.T) {
	f, resolve := NewFuture[SampleResponse]()
	s, add := NewStream(f)
	add(Drawn{Token: 1})
	var heard []int32
	s.Follow(func(d Drawn) { heard = append(heard, d.Token) })
	add(Drawn{Token: 2})
	var late []int32
	s.Follow(func(d Drawn) { late = append(late, d.Token) })
	some, err := s.Next(t.Context())
	if err != nil || len(some) != 2 {
		t.Fatalf("%v, %v", some, err)
	}
	add(Drawn{Token: 3, Stop: StopStop})
	resolve(SampleResponse{}, nil)
	if !slices.Equal(heard, []int32{1, 2, 3}) || !slices.Equal(late, []int32{1, 2, 3}) {
		t.Errorf("heard %v, and by the second %v", heard, late)
	}
}

// resolved is a client whose samples are there at once.
type resolved struct{ SampleResponse }

func (r resolved) Sample(context.Context, SampleRequest) (*Future[SampleResponse], error) {
	return Resolved(r.SampleResponse, nil), nil
}

// A service that leaves out samples, tokens or log-probabilities is an error of the service.
func TestOpenStreamOfTooLittle(t *testing.T) {
	whole := SampledSequence{Tokens: []int32{5}, Logprobs: []float32{-1}, StopReason: StopStop}
	rich := SampledSequence{Tokens: whole.Tokens, Logprobs: whole.Logprobs, TopKLogprobs: make([][]TokenLogprob, 2)}
	for name, list := range map[string][]SampledSequence{"no samples": nil, "two samples": {whole, whole},
		"no tokens": {{StopReason: StopStop}}, "no logprobs": {{Tokens: []int32{5}}},
		"too many alternatives": {rich},
	} {
		s, err := OpenStream(t.Context(), resolved{SampleResponse{Sequences: list}}, SampleRequest{})
		if err == nil {
			_, err = s.Next(t.Context())
		}
		if CategoryOf(err) != Server {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reader in no hurry gets the tokens of some time together, with the first one after it; at once those that end a
// sample; and after a longer time what there is.
func TestNextFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, resolve := NewFuture[SampleResponse]()
		s, add := NewStream(f)
		begun := time.Now()
		at := func(ms int) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
		go func() {
			for _, x := range []struct {
				ms   int
				stop StopReason
			}{{ms: 3}, {ms: 8}, {ms: 12}, {ms: 13}, {ms: 23}, {24, StopStop}, {ms: 33}} {
				time.Sleep(time.Until(at(x.ms)))
				add(Drawn{Token: int32(x.ms), Stop: x.stop})
			}
			time.Sleep(time.Until(at(99)))
			resolve(SampleResponse{}, nil)
		}()
		next := func(from, until int) string {
			some, err := s.NextFrom(t.Context(), at(from), at(until))
			if err != nil {
				return fmt.Sprint(err, " ", time.Since(begun))
			}
			var tokens []int32
			for _, d := range some {
				tokens = append(tokens, d.Token)
			}
			return fmt.Sprint(tokens, " ", time.Since(begun))
		}
		for i, x := range []struct {
			from, until int
			want        string
		}{{10, 20, "[3 8 12] 12ms"}, {20, 30, "[13 23] 23ms"}, {30, 40, "[24] 24ms"}, {40, 45, "[33] 45ms"},
			{80, 200, "EOF 99ms"}} {
			if got := next(x.from, x.until); got != x.want {
				t.Errorf("call %d from %d until %d: %s, want %s", i, x.from, x.until, got, x.want)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		g, _ := NewFuture[SampleResponse]()
		s, add = NewStream(g)
		if _, err := s.NextFrom(gone, at(200), at(300)); !errors.Is(err, context.Canceled) {
			t.Errorf("a reader that is gone: %v", err)
		}
		add(Drawn{Token: 1, Stop: StopStop}) // before the call
		if some, err := s.NextFrom(t.Context(), at(200), at(300)); err != nil || len(some) != 1 ||
			time.Since(begun) != 99*time.Millisecond {
			t.Errorf("a sample that has ended: %v, %v after %v", some, err, time.Since(begun))
		}
	})
}
