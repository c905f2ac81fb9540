package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
	"pgregory.net/rapid"
)

// One tenant requests as many samples as the server accepts; another is not refused.
func TestTenantCannotFillTheSampleQueue(t *testing.T) {
	r := newRig(t, Options{Queues: Queues{MaxSamples: 8}, Hold: time.Millisecond})
	bob := r.as("tml-bob")
	long := map[string]any{"sampling_params": map[string]any{"max_tokens": 500, "stop": []int{127}}, "num_samples": 400}
	flood, small := r.sampler(r.session(), 0, map[string]any{"base_model": "tiny"}), bob.sampler(bob.session(), 0,
		map[string]any{"base_model": "tiny"})
	var ids []string
	refused := ""
	for seq := int64(0); refused == "" && seq < 8; seq++ {
		code, _, raw := r.send("POST", wire.Prefix+"/asample", asample(flood, seq, long))
		if code == http.StatusOK {
			ids = append(ids, r.promise("/asample", asample(flood, seq, long)))
		} else {
			refused = string(raw)
		}
	}
	if len(ids) != 4 || !strings.Contains(refused, "4 samples") || !strings.Contains(refused, "of them yours") {
		t.Errorf("one tenant got %d of 8 places, then %q; want half", len(ids), refused)
	}
	bob.samples(bob.promise("/asample", asample(small, 0, nil)))
	for _, id := range ids {
		r.post("/cancel_future", wire.RetrieveRequest{RequestID: id}, nil)
		r.failure(id)
	}
	if all, _ := r.server.capacity.Sampling.Now(""); all != (capacity.Amount{}) {
		t.Errorf("when everything has ended %+v is counted", all)
	}
}

// One tenant waits with as many calls as the server accepts; another still gets its result.
func TestTenantCannotTakeEveryListener(t *testing.T) {
	r := newRig(t, Options{Queues: Queues{MaxListening: 4}, Hold: time.Minute})
	bob := r.as("tml-bob")
	m, other := r.model(r.session(), 0), bob.model(bob.session(), 0)
	id := r.promise("/forward_backward", batch(m, 2, false)) // waits for the first
	done := make(chan int, 2)
	for range 2 {
		go func() {
			code, _, _, _ := r.try("POST", wire.Prefix+"/retrieve_future", wire.RetrieveRequest{RequestID: id})
			done <- code
		}()
	}
	r.listens(t, 2)
	if code, h, raw := r.send("POST", wire.Prefix+"/retrieve_future",
		wire.RetrieveRequest{RequestID: id}); code != http.StatusServiceUnavailable || h.Get("Retry-After") == "" {
		t.Errorf("a third call that waits: %d %s", code, raw)
	}
	bob.output(bob.promise("/forward_backward", batch(other, 1, false)))
	r.promise("/forward_backward", batch(m, 1, false))
	for range 2 {
		if code := <-done; code != http.StatusOK {
			t.Errorf("a call that waited: %d", code)
		}
	}
}

// listens waits until that many calls wait for results.
func (r *rig) listens(t *testing.T, calls int) {
	t.Helper()
	eventually(t, func() string {
		all, _ := r.server.capacity.Listening.Now("")
		return unless(all.Requests == calls, fmt.Sprintf("%d calls wait, want %d", all.Requests, calls))
	})
}

// In any order of take and release, a tenant is admitted only if its backlog does not exceed the remaining capacity, a
// new tenant finds room while any is left, and in the end nothing is counted.
func TestQuota(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 30).Draw(rt, "most")
		q := capacity.NewQuota("requests", most, 1000)
		held := map[string][]int64{}
		for range rapid.IntRange(0, 100).Draw(rt, "steps") {
			tenant := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "tenant")
			if own := held[tenant]; len(own) > 0 && rapid.Bool().Draw(rt, "release") {
				q.Release(tenant, own[0])
				held[tenant] = own[1:]
				continue
			}
			size := rapid.Int64Range(0, 400).Draw(rt, "bytes")
			all, own := q.Now(tenant)
			err := q.Try(tenant, size)
			free := most - all.Requests
			switch {
			case err == nil && (own.Requests >= free && own.Requests > 0 || free <= 0):
				rt.Fatalf("%s holds %d, %d are free, and it got one more", tenant, own.Requests, free)
			case err != nil && own.Requests == 0 && free > 0 && all.Bytes < 1000:
				rt.Fatalf("%s holds nothing, %d are free: %v", tenant, free, err)
			case err == nil:
				held[tenant] = append(held[tenant], size)
			}
		}
		for tenant, sizes := range held {
			for _, size := range sizes {
				q.Release(tenant, size)
			}
		}
		if all, _ := q.Now(""); all != (capacity.Amount{}) || len(q.Tenants) != 0 {
			rt.Fatalf("%+v is counted when everything was released, of %d tenants", all, len(q.Tenants))
		}
	})
}

// The latest results of a tenant are kept. An older one is gone, and another tenant's results stay.
func TestKeptResultsAreBounded(t *testing.T) {
	r := newRig(t, Options{Keep: Keep{MaxResultBytes: 4096}})
	bob := r.as("tml-bob")
	mine, theirs := r.sampler(r.session(), 0, map[string]any{"base_model": "tiny"}), bob.sampler(bob.session(), 0,
		map[string]any{"base_model": "tiny"})
	other := bob.promise("/asample", asample(theirs, 0, nil))
	bob.samples(other)
	var ids []string
	for seq := range int64(20) {
		ids = append(ids, r.promise("/asample", asample(mine, seq, nil)))
		r.samples(ids[seq])
	}
	for round := range 2 {
		if code, _, raw := r.send("POST", wire.Prefix+"/retrieve_future",
			wire.RetrieveRequest{RequestID: ids[0]}); code != http.StatusGone {
			t.Errorf("round %d: the oldest result: %d %s", round, code, raw)
		}
		r.samples(ids[19])
		bob.samples(other)
		k := r.server.state.Kept[r.server.state.TenantOf(mine)]
		if k.Bytes > 4096 || k.Live < 2 || len(r.server.state.Samples) != k.Live+1 {
			t.Errorf("round %d: %d results with %d bytes are kept, %d in all", round, k.Live, k.Bytes,
				len(r.server.state.Samples))
		}
		r.restart()
		bob.server, bob.web = r.server, r.web
	}
	r.clock.Add(int64(25 * time.Hour))
	if err := r.server.collect(); err != nil {
		t.Fatal(err)
	}
	if n := len(r.server.state.Kept) + len(r.server.state.Samples); n != 0 {
		t.Errorf("after a day %d are kept", n)
	}
}
