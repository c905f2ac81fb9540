package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

const (
	mostEarly   = 4096     // tasks that are kept until their head's welcome comes
	answersKept = 64 << 20 // bytes of answers that are kept, for a head that asks again
	parallel    = 8        // answers being sent beyond the slots
)

func (w *worker) awaitChange(ctx context.Context) {
	w.mu.Lock()
	changed := w.changed
	w.mu.Unlock()
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// receive takes a task. One that is held already was sent again. ctx is the tasks'.
func (w *worker) receive(ctx context.Context, data []byte) {
	h := &held{}
	body, err := message.Decode(data, &h.Task)
	if err != nil {
		return // the head sends it again if it was damaged
	}
	h.body = body
	h.ctx, h.cancel = context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.Head != w.welcome.Head { // its welcome is on the way, or it is no longer there
		w.early = append(w.early, h)
		if len(w.early) > mostEarly {
			w.early[0].cancel()
			w.early = slices.Delete(w.early, 0, 1)
		}
		return
	}
	w.enqueue(h)
}

// enqueue puts a task into the queue. The caller holds the lock.
func (w *worker) enqueue(h *held) {
	if old := w.held[h.ID]; old != nil {
		old.Head = h.Head
		h.cancel()
		return
	}
	w.held[h.ID] = h
	w.queue = append(w.queue, h)
	w.signal()
}

// dispatch begins tasks while there are slots.
func (w *worker) dispatch(ctx context.Context) {
	sending := make(chan struct{}, w.o.About.Slots+parallel)
	running := 0
	ended := make(chan struct{}, w.o.About.Slots)
	done := func() { ended <- struct{}{} }
	for {
		for running < w.o.About.Slots {
			h := w.next()
			if h == nil {
				break
			}
			running++
			go w.work(h, sending, done)
		}
		w.mu.Lock()
		changed := w.changed
		ready := len(w.queue) > 0 && w.paused == "" && !w.leaving && running < w.o.About.Slots
		w.mu.Unlock()
		if ready {
			continue
		}
		select {
		case <-changed:
		case <-ended:
			running--
		case <-ctx.Done():
			for ; running > 0; running-- {
				<-ended
			}
			for range cap(sending) {
				sending <- struct{}{} // until all answers are sent or given up
			}
			return
		}
	}
}

// next takes a task off the queue, unless the worker takes none now.
func (w *worker) next() *held {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 || w.paused != "" || w.leaving {
		return nil
	}
	h := w.queue[0]
	w.queue = w.queue[1:]
	h.begun = true
	w.begun++
	return h
}

// work computes a task and sends its answer, for which it does not keep the slot.
func (w *worker) work(h *held, sending chan struct{}, done func()) {
	payload, seconds, err := w.compute(h)
	sending <- struct{}{}
	done()
	defer func() { <-sending }()
	if h.ctx.Err() == nil {
		w.answer(h, payload, seconds, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = max(w.begun-1, 0)
	w.remove(h)
}

// compute calls the function, or finds the answer among those given lately.
func (w *worker) compute(h *held) (payload []byte, seconds float64, err error) {
	if payload, known := w.known.get(h.ID); known {
		return payload, 0, nil
	}
	var held []func()
	defer func() {
		for _, release := range held {
			release()
		}
	}()
	blobPath := func(n Need) (string, error) {
		path, release, err := w.cache.Path(h.ctx, n, w.readChunk)
		if err != nil {
			return "", err
		}
		held = append(held, release)
		return path, nil
	}
	t := Task{ID: h.ID, Kind: h.Kind, Needs: h.Needs, Payload: h.body, Cost: h.Cost, Group: h.Group, Shared: h.Shared}
	if h.Task.Payload != nil {
		path, err := blobPath(*h.Task.Payload)
		if err != nil {
			return nil, 0, err
		}
		if t.Payload, err = os.ReadFile(path); err != nil {
			return nil, 0, err
		}
	}
	if got := message.ID(t.Kind, t.Needs, t.Payload); got != t.ID {
		return nil, 0, fmt.Errorf("the task has the id %s and the content of %s", t.ID, got)
	}
	watch := stopwatch{meter: &w.meter}
	have := func(hash string) (string, error) {
		watch.pause()
		defer watch.resume()
		n, err := w.need(h.ctx, t, hash)
		if err != nil {
			return "", err
		}
		return blobPath(n)
	}
	watch.start()
	defer func() {
		seconds = watch.stop()
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		if err == nil {
			w.known.put(h.ID, payload)
		}
	}()
	payload, err = w.f(h.ctx, t, have)
	return payload, 0, err
}

// need finds the size of a blob: in the task, in the cache, or by asking the head.
func (w *worker) need(ctx context.Context, t Task, hash string) (Need, error) {
	if i := slices.IndexFunc(t.Needs, func(n Need) bool { return n.Hash == hash }); i >= 0 {
		return t.Needs[i], nil
	}
	if size, known := w.cache.Known(hash); known {
		return Need{Hash: hash, Size: size}, nil
	}
	got, err := w.want(ctx, hash, 0)
	return Need{Hash: hash, Size: got.Size}, err
}

// askChunk asks the head for a chunk, until it answers.
func (w *worker) askChunk(ctx context.Context, hash string, i int) ([]byte, error) {
	data, err := message.Encode(message.Want{Hash: hash, First: i, Direct: true}, nil)
	if err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		var got message.Stored
		chunk, err := askRaw(ctx, w.nc, w.names.Want(w.id), data, &got)
		switch {
		case err == nil && got.Error == "":
			return chunk, nil
		case err == nil && !got.Again:
			return nil, errors.New(got.Error)
		}
		pause.For(ctx, retryWait)
	}
	return nil, ctx.Err()
}

// want asks the head to put chunks of a blob into the store, until it answers.
func (w *worker) want(ctx context.Context, hash string, first int) (got message.Stored, err error) {
	for ctx.Err() == nil {
		err := ask(ctx, w.nc, w.names.Want(w.id), message.Want{Hash: hash, First: first}, &got)
		switch {
		case err == nil && got.Error == "":
			return got, nil
		case err == nil && !got.Again:
			return got, errors.New(got.Error)
		}
		pause.For(ctx, retryWait) // the head is away, or its store
	}
	return got, ctx.Err()
}

// readChunk reads a chunk of a blob from the store, and asks the head to put it there if it is missing. With direct it
// asks the head for the chunk: what the store has is somebody else's.
func (w *worker) readChunk(ctx context.Context, hash string, i int, direct bool) ([]byte, error) {
	if direct {
		return w.askChunk(ctx, hash, i)
	}
	for ctx.Err() == nil {
		chunk, err := stored(ctx, w.nc, w.names.Blobs(), w.names.Chunk(hash, i))
		if err == nil {
			return chunk, nil
		}
		if !errors.Is(err, errGone) {
			return nil, err
		}
		if _, err := w.want(ctx, hash, i/blob.Block*blob.Block); err != nil {
			return nil, err
		}
	}
	return nil, ctx.Err()
}
