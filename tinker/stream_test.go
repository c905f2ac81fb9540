package tinker

import (
	"slices"
	"testing"
)

// A follower hears every token once, in order, also those drawn before it came and those that nobody reads.
func TestFollow(t *testing.T) {
	f, resolve := NewFuture[SampleResponse]()
	s, add := NewStream(f)
	add(Drawn{Token: 1})
	var heard []int32
	s.Follow(func(d Drawn) { heard = append(heard, d.Token) })
	add(Drawn{Token: 2})
	some, err := s.Next(t.Context())
	if err != nil || len(some) != 2 {
		t.Fatalf("%v, %v", some, err)
	}
	add(Drawn{Token: 3, Stop: StopStop})
	resolve(SampleResponse{}, nil)
	if !slices.Equal(heard, []int32{1, 2, 3}) {
		t.Errorf("heard %v", heard)
	}
}
