package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/broker"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// startPatience is how long a head that starts waits for an outside server.
const startPatience = time.Minute

// closePatience is how long a closing head waits for its last words to be sent.
const closePatience = time.Second

// line is a head's connection to NATS and its streams there. It starts the embedded server or connects to a cluster,
// and mends the streams when they break.
type line struct {
	o     HeadOptions
	keys  *access.Keys
	names message.Names
	start string          // names this start of the head
	ctx   context.Context // ends when the head closes
	work  *lifetime.Group // the head's goroutines

	broker *broker.Broker // nil with an outside cluster
	nc     *nats.Conn
	js     jetstream.JetStream
	place  access.Place
	ca     []byte

	rate    foreign.Rate // of lines of the log
	mend    chan struct{}
	broken  atomic.Bool  // the embedded server says that its store fails
	refused atomic.Int64 // messages that NATS did not take
	strays  atomic.Int64 // messages of workers that broke the rules
}

func newLine(o HeadOptions, keys *access.Keys) *line {
	start := make([]byte, 8)
	rand.Read(start) // never fails
	work := lifetime.New()
	return &line{o: o, keys: keys, names: keys.Names, start: hex.EncodeToString(start), ctx: work.Context(),
		work: work, mend: make(chan struct{}, 1)}
}

// open connects, writes the credentials of workers and operators, and makes the streams. resend is called after the
// connection was lost and is back.
func (l *line) open(ctx context.Context, resend func()) error {
	if err := l.patiently(ctx, func() error { return l.connect(resend) }); err != nil {
		return err
	}
	if err := l.writeCredentials(); err != nil {
		return err
	}
	return l.patiently(ctx, func() error { return errors.Join(l.ensure(ctx), l.empty(ctx)) })
}

// patiently tries until an outside server is there, which may be restarting too.
func (l *line) patiently(ctx context.Context, try func() error) error {
	for begun, said := time.Now(), false; ; said = true {
		err := try()
		if err == nil || l.o.URL == "" || errors.Is(err, nats.ErrAuthorization) || time.Since(begun) > startPatience {
			return err
		}
		if !said {
			l.logf("", "%v; waiting for it for up to %v", err, startPatience)
		}
		pause.For(ctx, retryWait)
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// connect starts the embedded server, or connects to the cluster.
func (l *line) connect(resend func()) error {
	var c access.Credentials
	var err error
	options := []nats.Option{nats.ReconnectHandler(func(*nats.Conn) { resend() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { l.warn(err) })}
	if l.o.URL != "" {
		if l.o.Creds != "" {
			if c, err = access.Read(l.o.Creds); err != nil {
				return err
			}
		}
		l.place, l.ca = access.Place{Job: l.names.Job, URL: l.o.URL, ServerName: c.Place.ServerName}, c.CA
	} else {
		if err := l.startBroker(); err != nil {
			return err
		}
		if c, err = l.keys.NewUser("head", access.HeadRights()); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(l.broker))
	}
	if l.nc, err = connect(l.o.URL, c, "head of "+l.names.Job, "_INBOX.head", options...); err != nil {
		return err
	}
	failed := func(_ jetstream.JetStream, m *nats.Msg, err error) { l.unwell(err) }
	l.js, err = jetstream.New(l.nc, jetstream.WithPublishAsyncErrHandler(failed),
		jetstream.WithPublishAsyncMaxPending(4096), jetstream.WithPublishAsyncTimeout(publishPatience))
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// startBroker starts the embedded server.
func (l *line) startBroker() error {
	var cert access.Certificate
	var err error
	if l.o.Cert != "" {
		cert, err = access.LoadCertificate(l.o.Cert, l.o.Key, l.o.CA)
	} else {
		cert, err = access.MakeCertificate(l.o.Dir)
	}
	if err != nil {
		return err
	}
	l.broker, err = broker.Start(broker.Options{Dir: filepath.Join(l.o.Dir, "nats"), Listen: l.o.Listen,
		Monitor: l.o.Monitor, Keys: l.keys, Certificate: cert.TLS, MaxStore: l.o.Store, Warn: l.warned})
	if err != nil {
		return err
	}
	l.ca = cert.CA
	l.place = access.Place{Job: l.names.Job, URL: l.broker.URL(l.o.Advertise), ServerName: cert.ServerName}
	return nil
}

// close tells the workers that this head ends, and ends the connection and what runs for the head.
func (l *line) close() {
	if l.nc != nil {
		l.pulse(true)
		l.nc.FlushTimeout(closePatience)
		l.nc.Close()
	}
	l.work.Wait()
	if l.broker != nil {
		l.broker.Close()
	}
}

// warn logs an error of the connection. Errors that a closed connection causes are none.
func (l *line) warn(err error) {
	if l.ctx.Err() == nil {
		l.logf("", "fleet: %v", err)
	}
}

// warned logs what the embedded server warns of. It does not answer publishers when its store fails.
func (l *line) warned(format, text string) {
	l.logf(format, "fleet: NATS server: %s", text)
	if strings.Contains(format, "failed to store") { // not the text, in which clients' names are
		l.broken.Store(true)
		l.unwell(errors.New(text))
	}
}

// logf logs a line. What workers write is in most of them, and workers cause them: of one kind about one worker only as
// many are written as [foreign.Rate] allows.
func (l *line) logf(about, format string, args ...any) {
	more, ok := l.rate.Allow(about + format)
	if !ok {
		return
	}
	text := foreign.Text(fmt.Sprintf(format, args...))
	if more != "" {
		text += " (" + more + ")"
	}
	l.o.Log(text)
}
