package engine

import (
	"errors"
	"runtime"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A request that fills a gap is accepted when the queue is full: later requests wait for it.
func TestFullQueueTakesWhatOthersWaitFor(t *testing.T) {
	e := open(t, Options{MaxWaiting: 8})
	c := create(t, e, 0, lora(2))
	var futures []*tinker.Future[tinker.ForwardOutput]
	send := func(seq int64) error {
		r := batch(mixed[1])
		r.SeqID = seq
		f, err := c.Forward(testContext(t), r)
		if err == nil {
			futures = append(futures, f)
		}
		return err
	}
	for seq := int64(3); seq < 7; seq++ {
		if err := send(seq); err != nil {
			t.Fatal(err)
		}
	}
	if err := send(7); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("the fifth of four: %v", err)
	}
	if err := errors.Join(send(4), send(2), send(1)); err != nil {
		t.Errorf("a repeated one, and those that are missing: %v", err)
	}
	for _, f := range futures {
		value(t, f, nil)
	}
	if err := send(7); err != nil {
		t.Errorf("again, with room: %v", err)
	}
	value(t, futures[len(futures)-1], nil)
}

// heap is the live heap, bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalizers and cleanups released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Each of 1,024 pending samples and as many forward_backwards of 64 models takes a few KiB besides its tokens. All are
// answered, and their memory is released.
func TestMemoryOfManyRequests(t *testing.T) {
	const n = 1024
	e := open(t, Options{KeepResults: 1})
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	var clients []tinker.TrainingClient
	for i := range 64 {
		clients = append(clients, create(t, e, int64(i), lora(2)))
		train(t, clients[i], 1, mixed[1])
	}
	draw(t, s, sampleRequest(1, 2, 1, mixed[1]))
	outstanding(t, e, s, clients, n) // the arenas grow to their size
	before := heap()
	waiting := outstanding(t, e, s, clients, n)
	after := heap()
	t.Logf("heap %d KiB, with all waiting %d KiB, afterwards %d KiB; %+v", before>>10, waiting>>10, after>>10,
		e.Stats())
	if each := (waiting - before) / (2 * n); each > 4<<10 || after-before > 4<<20 {
		t.Errorf("each waiting request takes %d bytes, and %d KiB are left afterwards", each, (after-before)>>10)
	}
}

// outstanding sends n samples and n forward_backwards before any of them begins. It returns the heap at that time, in
// bytes, and waits for every answer.
func outstanding(t *testing.T, e *Engine, s tinker.SamplingClient, clients []tinker.TrainingClient,
	n int) (waiting int64) {
	t.Helper()
	ctx := testContext(t) // one: each is kept to the end of the test
	release := hold(e)
	var samples []*tinker.Future[tinker.SampleResponse]
	var trained []*tinker.Future[tinker.ForwardOutput]
	for i := range n {
		f, err := s.Sample(ctx, sampleRequest(1, 3, uint64(i), tokens(i, 20)))
		if err != nil {
			t.Fatal(err)
		}
		g, err := clients[i%len(clients)].ForwardBackward(ctx, batch(tokens(i, 21)))
		if err != nil {
			t.Fatal(err)
		}
		samples, trained = append(samples, f), append(trained, g)
	}
	want := tinker.Queue{Requests: n, Tokens: 20 * int64(n)}
	if w := e.Stats().Waiting; w != [2]tinker.Queue{want, want} {
		t.Errorf("%+v waits", w)
	}
	waiting = heap()
	release(len(clients))
	for i := range n {
		q, err := samples[i].Wait(ctx)
		if err != nil || len(q.Sequences) != 1 || len(q.Sequences[0].Tokens) == 0 {
			t.Fatalf("sample %d: %+v, %v", i, q, err)
		}
		o, err := trained[i].Wait(ctx)
		if err != nil || len(o.LossFnOutputs) != 1 {
			t.Fatalf("request %d: %+v, %v", i, o, err)
		}
	}
	return waiting
}
