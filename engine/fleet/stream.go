package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	publishPatience = 4 * time.Second
	probePatience   = 2 * time.Second // a server whose store fails does not answer
	mostSlow        = 6               // probes in a row that may get no answer before the store is made again
	mendPatience    = 10 * time.Second
	probeEvery      = 5 * time.Second
	beatsKept       = 5 // beats that a worker's entry in the KV bucket lives
)

// streams are the head's streams in JetStream. Nothing in them is missed when it is lost.
func (h *Head) streams() []jetstream.StreamConfig {
	share := h.o.Store / 3
	return []jetstream.StreamConfig{
		{Name: h.names.Blobs(), Subjects: []string{h.names.AllChunks()}, Discard: jetstream.DiscardOld,
			Storage: jetstream.FileStorage, MaxBytes: share, MaxMsgsPerSubject: 1, AllowDirect: true,
			Replicas: h.o.Replicas},
		{Name: h.names.Answers(), Subjects: []string{h.names.AllAnswers()}, Discard: jetstream.DiscardOld,
			Storage: jetstream.FileStorage, MaxBytes: share, MaxMsgsPerSubject: 1, AllowDirect: true,
			Replicas: h.o.Replicas},
	}
}

// ensure makes the streams and the bucket where they are missing.
func (h *Head) ensure(ctx context.Context) error {
	for _, s := range h.streams() {
		if _, err := h.js.CreateOrUpdateStream(ctx, s); err != nil {
			return fmt.Errorf("fleet: stream %s: %w", s.Name, err)
		}
	}
	_, err := h.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: h.names.Presence(), History: 1,
		TTL: beatsKept * h.o.Beat, Storage: jetstream.MemoryStorage, Replicas: h.o.Replicas})
	if err != nil {
		return fmt.Errorf("fleet: bucket %s: %w", h.names.Presence(), err)
	}
	return nil
}

// empty removes what an earlier start of the head left in the streams: nobody asks for its answers, and its chunks are
// stored again when somebody asks, from where their hashes are true.
func (h *Head) empty(ctx context.Context) error {
	for _, name := range []string{h.names.Blobs(), h.names.Answers()} {
		s, err := h.js.Stream(ctx, name)
		if err == nil {
			err = s.Purge(ctx)
		}
		if err != nil {
			return fmt.Errorf("fleet: stream %s: %w", name, err)
		}
	}
	return nil
}

// unwell notes that JetStream did not take something.
func (h *Head) unwell(err error) {
	if h.ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	h.counts.Refused++
	h.mu.Unlock()
	select {
	case h.mend <- struct{}{}:
	default:
	}
}

// mending looks after JetStream: it makes again what is missing, and starts anew what does not work.
func (h *Head) mending() {
	defer h.running.Done()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	slow := 0
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-h.mend:
		case <-tick.C:
		}
		err := h.probe()
		if errors.Is(err, context.DeadlineExceeded) && !h.broken.Load() && slow < mostSlow {
			slow++ // a busy server, unless it continues
			wait(h.ctx, probePatience)
			continue
		}
		slow = 0
		if err != nil && h.ctx.Err() == nil {
			h.broken.Store(false)
			h.logf("", "fleet: the store of NATS does not work (%v); making it again", err)
			if err := h.rebuild(); err != nil && h.ctx.Err() == nil {
				h.logf("", "fleet: the store of NATS cannot be made again: %v; trying on", err)
			}
		}
	}
}

// probe reports whether every stream is there and takes messages.
func (h *Head) probe() error {
	ctx, cancel := context.WithTimeout(h.ctx, probePatience)
	defer cancel()
	for _, s := range h.streams() {
		if _, err := h.js.Stream(ctx, s.Name); err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}
	if _, err := h.js.KeyValue(ctx, h.names.Presence()); err != nil {
		return fmt.Errorf("bucket %s: %w", h.names.Presence(), err)
	}
	for _, subject := range []string{h.names.Chunk("probe", 0), h.names.Answer("probe", "0", 0)} {
		ack, err := h.js.Publish(ctx, subject, nil)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		s, err := h.js.Stream(ctx, ack.Stream)
		if err != nil {
			return fmt.Errorf("stream %s: %w", ack.Stream, err)
		}
		if err := s.DeleteMsg(ctx, ack.Sequence); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}

// rebuild makes the streams again: what is missing, then all, then with a new store.
func (h *Head) rebuild() error {
	ctx, cancel := context.WithTimeout(h.ctx, 3*mendPatience)
	defer cancel()
	err := h.ensure(ctx)
	if err == nil && h.probe() == nil {
		return nil
	}
	for _, s := range h.streams() {
		if err := h.js.DeleteStream(ctx, s.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			h.warn(err)
		}
	}
	if err = h.ensure(ctx); err == nil && h.probe() == nil {
		return nil
	}
	if h.broker == nil {
		return errors.Join(err, h.probe())
	}
	return h.restartBroker()
}

// restartBroker starts the embedded server with an empty store on the address that it had.
func (h *Head) restartBroker() error {
	if err := h.broker.Restart(true); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(h.ctx, mendPatience)
	defer cancel()
	for !h.nc.IsConnected() && ctx.Err() == nil {
		time.Sleep(reconnectMin / 10)
	}
	return h.ensure(ctx)
}
