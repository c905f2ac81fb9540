package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// worker is the other end of a Head.
type worker struct {
	o     JoinOptions
	f     Function
	creds access.Credentials
	key   nkeys.KeyPair
	id    string
	names message.Names
	cache *blob.Cache
	meter meter
	trip  atomic.Int64 // nanoseconds to the server and back
	known answers      // given lately

	nc *nats.Conn // of the session
	js jetstream.JetStream

	announce chan struct{} // the worker must announce itself anew

	mu      sync.Mutex
	welcome message.Welcome
	held    map[string]*held
	early   []*held   // of a head that has not welcomed this worker yet
	queue   []*held   // not begun, in order
	begun   int       // running
	heard   time.Time // of a head
	paused  string
	leaving bool
	changed chan struct{} // closed when one of these changes
}

// held is a task that this worker has been given and has not answered.
type held struct {
	message.Task
	body   []byte
	begun  bool
	ctx    context.Context
	cancel context.CancelFunc
}

func newWorker(o JoinOptions, f Function, c access.Credentials, key nkeys.KeyPair, cache *blob.Cache) *worker {
	return &worker{o: o, f: f, creds: c, key: key, id: publicKey(key), names: message.Names{Job: c.Place.Job},
		cache: cache, known: answers{limit: answersKept}, announce: make(chan struct{}, 1),
		held: map[string]*held{}, changed: make(chan struct{})}
}

// signal wakes those that wait for a change. The caller holds the lock.
func (w *worker) signal() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// session is the time with one set of credentials. It returns nil after a drain.
func (w *worker) session(ctx context.Context) error {
	own, err := w.enrolUndrained(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	again := func(*nats.Conn) { w.again() }
	closed := func(nc *nats.Conn) { cancel(fmt.Errorf("fleet: %s: %w", w.o.URL, nc.LastError())) }
	w.nc, err = w.dial(ctx, own, w.names.Inbox(w.id), nats.ReconnectHandler(again), nats.ClosedHandler(closed))
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.heard = time.Now()
	w.mu.Unlock()
	defer w.nc.Close()
	if w.js, err = jetstream.New(w.nc, jetstream.WithPublishAsyncTimeout(publishPatience)); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if err := w.listen(ctx, cancel); err != nil {
		return err
	}
	w.again()
	var running sync.WaitGroup
	for _, part := range []func(context.Context){w.beats, w.trips, w.dispatch} {
		running.Go(func() { part(ctx) })
	}
	running.Go(func() {
		if err := w.greet(ctx); err != nil {
			cancel(err)
		}
	})
	running.Go(func() {
		if w.drained(ctx) {
			cancel(errDrained)
		}
	})
	running.Wait()
	w.dropAll()
	if context.Cause(ctx) == errDrained {
		w.farewell()
		return nil
	}
	return context.Cause(ctx)
}

// headBeats are the beats without a sign of life of the head, after which a draining worker leaves at once.
const headBeats = 4

// errDrained ends a session as it should end.
var errDrained = fmt.Errorf("fleet: drained")

// again makes the worker announce itself.
func (w *worker) again() {
	select {
	case w.announce <- struct{}{}:
	default:
	}
}

// listen takes the head's messages to this worker and to all.
func (w *worker) listen(ctx context.Context, cancel context.CancelCauseFunc) error {
	onControl := func(m *nats.Msg) {
		var c message.Control
		if _, err := message.Decode(m.Data, &c); err != nil {
			return
		}
		switch {
		case c.Refused != "":
			cancel(&Refused{c.Refused})
		case c.Drain:
			w.leave()
		default:
			w.drop(c.Cancel)
		}
	}
	onPulse := func(m *nats.Msg) {
		var p message.Pulse
		if _, err := message.Decode(m.Data, &p); err != nil {
			return
		}
		w.pulsed(p)
	}
	onTask := func(m *nats.Msg) { w.receive(ctx, m.Data) }
	for subject, f := range map[string]nats.MsgHandler{
		w.names.Task(w.id): onTask, w.names.Control(w.id): onControl, w.names.Pulse(): onPulse,
	} {
		_, err := w.nc.Subscribe(subject, func(m *nats.Msg) {
			if len(m.Header) == 0 { // otherwise it is a chunk of JetStream that somebody had sent here
				f(m)
			}
		})
		if err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	return nil
}

// pulsed notes that a head is there. One that is new is greeted; one that ends wants no answers.
func (w *worker) pulsed(p message.Pulse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = time.Now()
	switch {
	case p.Ends && p.Head == w.welcome.Head:
		w.o.Log(fmt.Sprintf("fleet: the head of %s has ended; waiting for the next", w.names.Job))
		for _, h := range w.held {
			h.cancel()
		}
		for _, h := range w.queue {
			delete(w.held, h.ID)
		}
		w.queue = nil
		w.signal()
	case !p.Ends && p.Head != w.welcome.Head:
		w.again()
	}
}

func (w *worker) head() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.welcome.Head
}

// greet announces the worker at first and whenever the head may have forgotten it.
func (w *worker) greet(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.announce:
		}
		var got message.Welcome
		a := message.Announcement{About: w.o.About, Holds: w.holds()}
		err := ask(ctx, w.nc, w.names.Announce(w.id), a, &got)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			pause.For(ctx, retryWait)
			w.again()
		case got.Refused != "":
			return &Refused{got.Refused}
		default:
			w.welcomed(got)
		}
	}
}

// welcomed notes that a head took this worker. What another head gave and has not begun is dropped.
func (w *worker) welcomed(got message.Welcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.welcome.Head != got.Head {
		if w.welcome.Head == "" {
			w.o.Log(fmt.Sprintf("fleet: joined %s at %s", w.names.Job, w.o.URL))
		} else {
			w.o.Log(fmt.Sprintf("fleet: joined the restarted head of %s", w.names.Job))
		}
		for _, h := range w.queue {
			if h.Head != got.Head {
				h.cancel()
				delete(w.held, h.ID)
			}
		}
		w.queue = slices.DeleteFunc(w.queue, func(h *held) bool { return h.Head != got.Head })
	}
	w.welcome = got
	for _, h := range w.early {
		if h.Head == got.Head {
			w.enqueue(h)
		} else {
			h.cancel()
		}
	}
	w.early = nil
	w.signal()
}

// leave begins to drain.
func (w *worker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.leaving {
		w.leaving = true
		w.o.Log(fmt.Sprintf("fleet: leaving %s when %d tasks are done", w.names.Job, w.begun))
		w.signal()
	}
}

// drained waits until a drain was asked for and everything that had begun is answered.
func (w *worker) drained(ctx context.Context) bool {
	drain := w.o.Drain
	tick := time.NewTicker(retryWait / 2)
	defer tick.Stop()
	for {
		w.mu.Lock()
		changed, empty := w.changed, len(w.held) == len(w.queue)
		alone := time.Since(w.heard) > max(retryWait, time.Duration(headBeats*w.welcome.Beat*float64(time.Second)))
		leaves := w.leaving && (empty || alone) // nobody takes the answers of a worker that is alone
		w.mu.Unlock()
		if leaves {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-drain:
			drain = nil
			w.leave()
		case <-changed:
		case <-tick.C:
		}
	}
}

// drop forgets a task whose answer is no longer wanted.
func (w *worker) drop(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.held[id]
	if h == nil {
		return
	}
	h.cancel()
	if !h.begun {
		w.remove(h)
	}
}

// dropAll forgets everything, at the end of a session.
func (w *worker) dropAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.held {
		h.cancel()
	}
	clear(w.held)
	w.queue, w.early, w.begun = nil, nil, 0
}

// remove takes a task off the lists. The caller holds the lock.
func (w *worker) remove(h *held) {
	if w.held[h.ID] == h {
		delete(w.held, h.ID)
	}
	w.queue = slices.DeleteFunc(w.queue, func(o *held) bool { return o == h })
	h.cancel()
	w.signal()
}

// beats tells the head that the worker is there and which tasks it holds.
func (w *worker) beats(ctx context.Context) {
	for {
		if w.head() == "" {
			w.awaitChange(ctx)
		} else {
			pause.For(ctx, time.Duration(w.beatSeconds()*float64(time.Second)))
		}
		if ctx.Err() != nil {
			return
		}
		w.pause()
		w.beat(time.Duration(w.trip.Load()), false)
	}
}

// trips measures the time to the server and back.
func (w *worker) trips(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		if err := w.nc.FlushTimeout(askPatience); err == nil {
			w.trip.Store(int64(time.Since(begun)))
		}
		pause.For(ctx, tripEvery)
	}
}

func (w *worker) beatSeconds() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.welcome.Beat > 0 {
		return w.welcome.Beat
	}
	return 1
}

// pause asks whether the worker may take tasks now.
func (w *worker) pause() {
	if w.o.Paused == nil {
		return
	}
	why := w.o.Paused()
	w.mu.Lock()
	defer w.mu.Unlock()
	if why != w.paused {
		w.paused = why
		w.signal()
	}
}

// beat publishes a sign of life into the KV bucket, where the head sees it pass.
func (w *worker) beat(trip time.Duration, gone bool) {
	w.mu.Lock()
	b := message.Beat{About: w.o.About, Head: w.welcome.Head, Paused: w.paused, Leaves: w.leaving,
		Trip: trip.Seconds(), Gone: gone}
	w.mu.Unlock()
	b.Holds = w.holds()
	data, err := message.Encode(b, nil)
	if err == nil {
		w.nc.Publish(w.names.Beat(w.id), data) // the next one follows
	}
}

// holds lists the tasks that the worker has not answered.
func (w *worker) holds() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.held))
}

// farewell tells the head that this worker is gone.
func (w *worker) farewell() {
	if w.nc.IsConnected() {
		w.beat(0, true)
		w.nc.FlushTimeout(askPatience)
	}
	w.o.Log(fmt.Sprintf("fleet: left %s", w.names.Job))
}
