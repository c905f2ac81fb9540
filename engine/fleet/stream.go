package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

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
func (l *line) streams() []jetstream.StreamConfig {
	share := l.o.Store / 3
	return []jetstream.StreamConfig{
		{Name: l.names.Blobs(), Subjects: []string{l.names.AllChunks()}, Discard: jetstream.DiscardOld,
			Storage: jetstream.FileStorage, MaxBytes: share, MaxMsgsPerSubject: 1, AllowDirect: true,
			Replicas: l.o.Replicas},
		{Name: l.names.Answers(), Subjects: []string{l.names.AllAnswers()}, Discard: jetstream.DiscardOld,
			Storage: jetstream.FileStorage, MaxBytes: share, MaxMsgsPerSubject: 1, AllowDirect: true,
			Replicas: l.o.Replicas},
	}
}

// ensure makes the streams and the bucket where they are missing.
func (l *line) ensure(ctx context.Context) error {
	for _, s := range l.streams() {
		if _, err := l.js.CreateOrUpdateStream(ctx, s); err != nil {
			return fmt.Errorf("fleet: stream %s: %w", s.Name, err)
		}
	}
	_, err := l.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: l.names.Presence(), History: 1,
		TTL: beatsKept * l.o.Beat, Storage: jetstream.MemoryStorage, Replicas: l.o.Replicas})
	if err != nil {
		return fmt.Errorf("fleet: bucket %s: %w", l.names.Presence(), err)
	}
	return nil
}

// empty removes what an earlier start of the head left in the streams: nobody asks for its answers, and its chunks are
// stored again when somebody asks, from where their hashes are true.
func (l *line) empty(ctx context.Context) error {
	for _, name := range []string{l.names.Blobs(), l.names.Answers()} {
		s, err := l.js.Stream(ctx, name)
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
func (l *line) unwell(err error) {
	if l.ctx.Err() != nil {
		return
	}
	l.refused.Add(1)
	select {
	case l.mend <- struct{}{}:
	default:
	}
}

// mending looks after JetStream: it makes again what is missing, and starts anew what does not work.
func (l *line) mending() {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	slow := 0
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-l.mend:
		case <-tick.C:
		}
		err := l.probe()
		if errors.Is(err, context.DeadlineExceeded) && !l.broken.Load() && slow < mostSlow {
			slow++ // a busy server, unless it continues
			pause.For(l.ctx, probePatience)
			continue
		}
		slow = 0
		if err != nil && l.ctx.Err() == nil {
			l.broken.Store(false)
			l.logf("", "fleet: the store of NATS does not work (%v); making it again", err)
			if err := l.rebuild(); err != nil && l.ctx.Err() == nil {
				l.logf("", "fleet: the store of NATS cannot be made again: %v; trying on", err)
			}
		}
	}
}

// purge removes the messages of a subject from a stream.
func (l *line) purge(stream, subject string) {
	ctx, cancel := context.WithTimeout(l.ctx, mendPatience)
	defer cancel()
	s, err := l.js.Stream(ctx, stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	if err != nil {
		l.unwell(err)
	}
}

// probe reports whether every stream is there and takes messages.
func (l *line) probe() error {
	ctx, cancel := context.WithTimeout(l.ctx, probePatience)
	defer cancel()
	for _, s := range l.streams() {
		if _, err := l.js.Stream(ctx, s.Name); err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}
	if _, err := l.js.KeyValue(ctx, l.names.Presence()); err != nil {
		return fmt.Errorf("bucket %s: %w", l.names.Presence(), err)
	}
	for _, subject := range []string{l.names.Chunk("probe", 0), l.names.Answer("probe", "0", 0)} {
		ack, err := l.js.Publish(ctx, subject, nil)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		s, err := l.js.Stream(ctx, ack.Stream)
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
func (l *line) rebuild() error {
	ctx, cancel := context.WithTimeout(l.ctx, 3*mendPatience)
	defer cancel()
	err := l.ensure(ctx)
	if err == nil && l.probe() == nil {
		return nil
	}
	for _, s := range l.streams() {
		if err := l.js.DeleteStream(ctx, s.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			l.warn(err)
		}
	}
	if err = l.ensure(ctx); err == nil && l.probe() == nil {
		return nil
	}
	if l.broker == nil {
		return errors.Join(err, l.probe())
	}
	return l.restartBroker()
}

// restartBroker starts the embedded server with an empty store on the address that it had.
func (l *line) restartBroker() error {
	if err := l.broker.Restart(true); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(l.ctx, mendPatience)
	defer cancel()
	for !l.nc.IsConnected() && ctx.Err() == nil {
		time.Sleep(reconnectMin / 10)
	}
	return l.ensure(ctx)
}
