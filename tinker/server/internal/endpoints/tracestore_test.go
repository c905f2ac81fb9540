package endpoints

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// The memory of recorded calls is bounded: the tenant that holds the most loses what it used longest ago.
func TestTracesAreBounded(t *testing.T) {
	s := &traceStore{most: 40 << 10}
	call := endpoint.Trace{Messages: json.RawMessage(strings.Repeat(" ", 1000))}
	small := traceOwner{"bob", "only"}
	s.add(small, call)
	var adding sync.WaitGroup
	for i := range 100 {
		adding.Go(func() { s.add(traceOwner{"alice", fmt.Sprint(i % 25)}, call) })
	}
	adding.Wait()
	s.add(traceOwner{"alice", "last"}, call)
	if s.bytes > s.most {
		t.Errorf("%d bytes are held, at most %d are allowed", s.bytes, s.most)
	}
	for _, of := range []traceOwner{small, {"alice", "last"}} {
		if _, ok := s.list(of); !ok {
			t.Errorf("%v is gone", of)
		}
	}
	n := 0
	for of := range s.kept {
		k, _ := s.drop(of)
		n += k
	}
	if n < 10 || s.bytes != 0 || len(s.held) != 0 {
		t.Errorf("%d calls were held; %d bytes and %v are left", n, s.bytes, s.held)
	}
}
