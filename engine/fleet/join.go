package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

const (
	askPatience = 5 * time.Second // for one reply of the head
	retryWait   = time.Second
	tripEvery   = 10 * time.Second
)

// Join lives a worker's life: it connects outward, announces itself, computes tasks with f, and answers. It reconnects
// by itself and waits for a head that is away. It returns nil after a drain, the context's error when that ends, and a
// *Refused when the head does not want this worker.
func Join(ctx context.Context, o JoinOptions, f Function) error {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	o.About.Slots = max(o.About.Slots, 1)
	log := o.Log
	o.Log = func(line string) { log(foreign.Text(line)) }
	c, err := access.Read(o.Creds)
	if err != nil {
		return err
	}
	if o.URL = cmp.Or(o.URL, c.Place.URL); o.URL == "" || c.Place.Job == "" {
		return fmt.Errorf("fleet: %s does not say where the head is; use worker.creds of the head's folder fleet/",
			o.Creds)
	}
	cache, err := blob.Open(filepath.Join(o.Cache, "blobs"), o.CacheBytes)
	if err != nil {
		return err
	}
	key, release, err := access.Identity(filepath.Join(o.Cache, "keys"))
	if err != nil {
		return err
	}
	defer release()
	w := newWorker(o, f, c, key, cache)
	for ctx.Err() == nil {
		err := w.session(ctx)
		var refused *Refused
		switch {
		case err == nil || errors.As(err, &refused):
			return err
		case errors.Is(err, errDrained):
			return nil
		case ctx.Err() == nil:
			o.Log(fmt.Sprintf("%v; trying again", err))
			pause.For(ctx, retryWait)
		}
	}
	return ctx.Err()
}

// enrolUndrained is enrol until a drain is asked for.
func (w *worker) enrolUndrained(ctx context.Context) (access.Credentials, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-w.o.Drain:
			cancel(errDrained)
		case <-ctx.Done():
		}
	}()
	c, err := w.enrol(ctx)
	if context.Cause(ctx) == errDrained {
		return c, errDrained
	}
	return c, err
}

// enrol asks the head for credentials of this worker's own. If the head makes none, the file's are used.
func (w *worker) enrol(ctx context.Context) (access.Credentials, error) {
	own := w.creds
	nc, err := w.dial(ctx, w.creds, w.names.Inbox("enrol")+"."+w.id)
	if err != nil {
		return own, err
	}
	defer nc.Close()
	for ctx.Err() == nil {
		var granted message.Granted
		err := ask(ctx, nc, w.names.Enrol(w.id), message.Enrolment{Key: w.id, About: w.o.About}, &granted)
		switch {
		case err != nil:
			if nc.IsClosed() {
				return own, fmt.Errorf("fleet: %s: %w", w.o.URL, cmp.Or(nc.LastError(), err))
			}
			w.o.Log(fmt.Sprintf("fleet: waiting for the head of %s: %v", w.names.Job, err))
			pause.For(ctx, retryWait)
		case granted.Refused != "":
			return own, &Refused{granted.Refused}
		case granted.JWT != "":
			seed, err := w.key.Seed()
			own.JWT, own.Seed = granted.JWT, string(seed)
			return own, err
		default:
			return own, nil
		}
	}
	return own, ctx.Err()
}

// dial connects, and waits for a server that does not answer.
func (w *worker) dial(ctx context.Context, c access.Credentials, inbox string,
	more ...nats.Option) (*nats.Conn, error) {
	if w.o.Dial != nil {
		more = append(more, nats.SetCustomDialer(w.o.Dial))
	}
	said := ""
	for attempt := 0; ctx.Err() == nil; attempt++ {
		nc, err := connect(w.o.URL, c, "worker "+w.o.About.Name, inbox, more...)
		if err == nil {
			return nc, nil
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) {
			return nil, &Refused{"its credentials are not accepted (" + err.Error() + "); " +
				"copy worker.creds from the head's folder fleet/ anew"}
		}
		if err.Error() != said {
			w.o.Log(fmt.Sprintf("%v; waiting for it", err))
			said = err.Error()
		}
		pause.For(ctx, reconnectDelay(attempt))
	}
	return nil, ctx.Err()
}

// ask sends a request and decodes the reply.
func ask(ctx context.Context, nc *nats.Conn, subject string, request, reply any) error {
	data, err := message.Encode(request, nil)
	if err != nil {
		return err
	}
	_, err = askRaw(ctx, nc, subject, data, reply)
	return err
}

// askRaw returns the body of the reply too.
func askRaw(ctx context.Context, nc *nats.Conn, subject string, data []byte, reply any) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		return nil, fmt.Errorf("fleet: the head does not answer: %w", err)
	}
	if body, err = message.Decode(m.Data, reply); err != nil {
		return nil, fmt.Errorf("fleet: the head's answer: %w", err)
	}
	return body, nil
}

func publicKey(key nkeys.KeyPair) string {
	id, err := key.PublicKey()
	if err != nil {
		return ""
	}
	return id
}
