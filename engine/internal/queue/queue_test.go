package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// recording returns a queue whose requests record that they ran.
func recording(t *testing.T, keep int, keepBytes int64) (q *Queue,
	send func(seq int64, what byte) (*tinker.Future[string], error), ran func() string) {
	var mu sync.Mutex
	var log []byte
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	q = New(Options{ID: "m", Start: func(f func()) bool { wg.Go(f); return true }, Idle: func() {},
		Backlog: fair.NewBacklog(tinker.Queue{Requests: 100, Tokens: 1}), Keep: keep, KeepBytes: keepBytes}, 0)
	send = func(seq int64, what byte) (*tinker.Future[string], error) {
		return Submit(context.Background(), q, seq, Digest{what}, 0, func() (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if log = append(log, what); what == 'x' {
				return "", errors.New("failed")
			}
			return "result " + string(what), nil
		}, func(s string) int64 { return int64(len(s)) })
	}
	return q, send, func() string { mu.Lock(); defer mu.Unlock(); return string(log) }
}

func TestQueueRunsInOrder(t *testing.T) {
	_, send, ran := recording(t, 100, 1<<20)
	var futures []*tinker.Future[string]
	for _, r := range []struct {
		seq  int64
		what byte
	}{{3, 'c'}, {2, 'b'}, {5, 'x'}, {0, 'f'}, {4, 'd'}} { // 0 takes 6
		f, err := send(r.seq, r.what)
		if err != nil {
			t.Fatal(err)
		}
		futures = append(futures, f)
	}
	if got := ran(); got != "" {
		t.Fatalf("%q ran before request 1 came", got)
	}
	f, err := send(1, 'a')
	valueOf(t, f, err)
	for i, f := range futures {
		if _, err := f.Wait(t.Context()); (err != nil) != (i == 2) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if got := ran(); got != "abcdxf" {
		t.Errorf("ran in the order %q, want abcdxf", got)
	}
}

func TestQueueAnswersRepeats(t *testing.T) {
	_, send, ran := recording(t, 3, 1<<20)
	for i := range 5 {
		f, err := send(int64(i+1), byte('a'+i))
		valueOf(t, f, err)
	}
	f, err := send(5, 'e')
	if got := valueOf(t, f, err); got != "result e" || ran() != "abcde" {
		t.Errorf("repeated: %q, ran %q", got, ran())
	}
	for _, c := range []struct {
		seq  int64
		what byte
		want string
	}{
		{5, 'z', "used for another request"}, {1, 'a', "no longer kept; the next free seq_id is 6"},
		{-1, 'a', "out of range"}, {1 << 40, 'a', "out of range"},
	} {
		if _, err := send(c.seq, c.what); err == nil || !strings.Contains(err.Error(), c.want) ||
			tinker.CategoryOf(err) != tinker.User {
			t.Errorf("request %d: %v, want %q", c.seq, err, c.want)
		}
	}
	_, send, _ = recording(t, 100, 20) // two results of 8 bytes fit
	for i := range 5 {
		f, err := send(int64(i+1), byte('a'+i))
		valueOf(t, f, err)
	}
	if _, err := send(3, 'c'); err == nil {
		t.Error("results were kept beyond their bytes")
	}
	f, err = send(4, 'd')
	valueOf(t, f, err)
}

func TestQueueCloses(t *testing.T) {
	q, send, ran := recording(t, 10, 1<<20)
	waiting, err := send(2, 'b')
	if err != nil {
		t.Fatal(err)
	}
	q.Close()
	if _, err := waiting.Wait(t.Context()); !errors.Is(err, tinker.ErrClosed) {
		t.Errorf("waiting request: %v", err)
	}
	if _, err := send(1, 'a'); !errors.Is(err, tinker.ErrClosed) || ran() != "" {
		t.Errorf("after close: %v, ran %q", err, ran())
	}
	q.Between(func(err error) {
		if !errors.Is(err, tinker.ErrClosed) {
			t.Errorf("control after close: %v", err)
		}
	})
}

func TestRequestsDiffer(t *testing.T) {
	base := func() tinker.ForwardRequest { return batchFrom(tokensFrom(2, 3), tokensFrom(1, 40)) }
	seen := map[Digest]string{NewHasher("forward").Forward(base()): "base"}
	if again := NewHasher("forward").Forward(base()); seen[again] == "" {
		t.Error("equal requests have different digests")
	}
	for name, change := range map[string]func(*tinker.ForwardRequest){
		"loss":      func(r *tinker.ForwardRequest) { r.LossFn = "ppo" },
		"config":    func(r *tinker.ForwardRequest) { r.LossFnConfig = map[string]float64{"beta": 1} },
		"config 2":  func(r *tinker.ForwardRequest) { r.LossFnConfig = map[string]float64{"beta": 2} },
		"order":     func(r *tinker.ForwardRequest) { slices.Reverse(r.Data) },
		"fewer":     func(r *tinker.ForwardRequest) { r.Data = r.Data[:1] },
		"token":     func(r *tinker.ForwardRequest) { r.Data[0] = datumOf(tokensFrom(9, 3)) },
		"weight":    func(r *tinker.ForwardRequest) { r.Data[0].LossFnInputs["weights"].Float[0] = 7 },
		"no weight": func(r *tinker.ForwardRequest) { delete(r.Data[0].LossFnInputs, "weights") },
		"image":     func(r *tinker.ForwardRequest) { r.Data[0].ModelInput.Chunks[0].Image = &tinker.Image{} },
	} {
		r := base()
		change(&r)
		d := NewHasher("forward").Forward(r)
		if other, dup := seen[d]; dup {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
	if NewHasher("forward").Forward(base()) == NewHasher("forward_backward").Forward(base()) {
		t.Error("the method is not in the digest")
	}
}

// valueOf waits for a request that must succeed.
func valueOf[T any](t *testing.T, f *tinker.Future[T], err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func tokensFrom(seed, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(seed*31 + i*7)
	}
	return out
}

func datumOf(seq []int32) tinker.Datum {
	n := len(seq) - 1
	return tinker.Datum{ModelInput: tinker.Text(seq[:n]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(seq[1:]), tinker.Weights: tinker.Floats(make([]float32, n))}}
}

func batchFrom(seqs ...[]int32) tinker.ForwardRequest {
	r := tinker.ForwardRequest{LossFn: tinker.CrossEntropy}
	for _, s := range seqs {
		r.Data = append(r.Data, datumOf(s))
	}
	return r
}
