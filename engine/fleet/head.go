package fleet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/broker"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/schedule"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// ErrClosed is the error of a call to a head that was closed.
var ErrClosed = errors.New("fleet: the head is closed")

// startPatience is how long a head that starts waits for an outside server.
const startPatience = time.Minute

// closePatience is how long a closing head waits for its last words to be sent.
const closePatience = time.Second

// Head gives tasks to workers. Its methods may be called from several goroutines.
type Head struct {
	o     HeadOptions
	keys  *access.Keys
	names message.Names
	start string // names this start of the head

	broker *broker.Broker // nil with an outside cluster
	nc     *nats.Conn
	js     jetstream.JetStream
	place  access.Place
	ca     []byte

	rate    foreign.Rate // of lines of the log
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	kick    chan struct{}
	changes changes
	mend    chan struct{}
	broken  atomic.Bool         // the embedded server says that its store fails
	fetches *semaphore.Weighted // bytes of large answers being read
	stores  *semaphore.Weighted // blocks being stored
	blocks  blocks
	blobs   *blob.Cache // for Local: what is offered, until it is withdrawn
	metrics net.Addr    // of HeadOptions.Metrics

	mu      sync.Mutex
	plan    *schedule.Plan
	open    map[string]*open
	recent  recent
	used    used
	crew    map[string]*member
	wants   map[string]int // being answered, by worker
	liars   map[string]bool
	offers  map[string]*offer
	storing map[storeKey]*storing
	local   map[string]context.CancelFunc
	counts  counts
	waiting time.Time // since when tasks wait and nobody is there
	closed  bool
}

// counts are totals since the start, for Status and metrics.
type counts struct {
	Done, Checked, Unchecked, Resent, Refused, Disputes, Strays int64
	Audited, UsedWrong                                          int64
	TaskBytes, AnswerBytes, BlobBytes                           int64
}

// Open starts a head: it makes or reads the fleet's keys, starts the embedded server or connects to a cluster, writes
// worker.creds and admin.creds into Dir, and takes workers from then on. The context covers the start alone.
func Open(ctx context.Context, o HeadOptions) (*Head, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	keys, err := access.Open(o.Dir, o.Job)
	if err != nil {
		return nil, err
	}
	if o.Signer != "" {
		if err := keys.Sign(o.Signer, o.Creds); err != nil {
			return nil, err
		}
	}
	h := newHead(o, keys)
	if err := h.begin(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func newHead(o HeadOptions, keys *access.Keys) *Head {
	start := make([]byte, 8)
	rand.Read(start) // never fails
	h := &Head{o: o, keys: keys, names: keys.Names, start: hex.EncodeToString(start),
		kick: make(chan struct{}, 1), mend: make(chan struct{}, 1), fetches: semaphore.NewWeighted(o.MaxAnswer),
		stores: semaphore.NewWeighted(mostStoring),
		plan:   schedule.New(o.Prefetch), open: map[string]*open{}, crew: map[string]*member{},
		wants: map[string]int{}, liars: map[string]bool{}, offers: map[string]*offer{},
		storing: map[storeKey]*storing{},
		local:   map[string]context.CancelFunc{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	if o.Local != nil {
		h.plan.Join(schedule.Worker{ID: Here, Slots: max(1, o.LocalSlots), Reserve: o.LocalSlots == 0})
	}
	return h
}

// begin connects and starts the head's goroutines.
func (h *Head) begin(ctx context.Context) (err error) {
	if h.blobs, err = blob.Open(filepath.Join(h.o.Dir, "blobs"), 0); err != nil {
		return err
	}
	if err := h.blobs.Clear(); err != nil { // of an earlier start
		return fmt.Errorf("fleet: cache: %w", err)
	}
	if err := h.patiently(ctx, h.connect); err != nil {
		return err
	}
	if err := h.writeCredentials(); err != nil {
		return err
	}
	if err := h.patiently(ctx, func() error { return errors.Join(h.ensure(ctx), h.empty(ctx)) }); err != nil {
		return err
	}
	if err := h.subscribe(); err != nil {
		return err
	}
	if h.o.Metrics != "" {
		if err := h.serveMetrics(); err != nil {
			return err
		}
	}
	h.running.Add(2)
	go h.loop()
	go h.mending()
	return nil
}

// patiently tries until an outside server is there, which may be restarting too.
func (h *Head) patiently(ctx context.Context, try func() error) error {
	for begun, said := time.Now(), false; ; said = true {
		err := try()
		if err == nil || h.o.URL == "" || errors.Is(err, nats.ErrAuthorization) || time.Since(begun) > startPatience {
			return err
		}
		if !said {
			h.logf("", "%v; waiting for it for up to %v", err, startPatience)
		}
		wait(ctx, retryWait)
		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// connect starts the embedded server, or connects to the cluster.
func (h *Head) connect() error {
	var c access.Credentials
	var err error
	options := []nats.Option{nats.ReconnectHandler(func(*nats.Conn) { h.resend() }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { h.warn(err) })}
	if h.o.URL != "" {
		if h.o.Creds != "" {
			if c, err = access.Read(h.o.Creds); err != nil {
				return err
			}
		}
		h.place, h.ca = access.Place{Job: h.names.Job, URL: h.o.URL, ServerName: c.Place.ServerName}, c.CA
	} else {
		if err := h.startBroker(); err != nil {
			return err
		}
		if c, err = h.keys.NewUser("head", access.HeadRights()); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(h.broker))
	}
	if h.nc, err = connect(h.o.URL, c, "head of "+h.names.Job, "_INBOX.head", options...); err != nil {
		return err
	}
	failed := func(_ jetstream.JetStream, m *nats.Msg, err error) { h.unwell(err) }
	h.js, err = jetstream.New(h.nc, jetstream.WithPublishAsyncErrHandler(failed),
		jetstream.WithPublishAsyncMaxPending(4096), jetstream.WithPublishAsyncTimeout(publishPatience))
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// startBroker starts the embedded server.
func (h *Head) startBroker() error {
	var cert access.Certificate
	var err error
	if h.o.Cert != "" {
		cert, err = access.LoadCertificate(h.o.Cert, h.o.Key, h.o.CA)
	} else {
		cert, err = access.MakeCertificate(h.o.Dir)
	}
	if err != nil {
		return err
	}
	h.broker, err = broker.Start(broker.Options{Dir: filepath.Join(h.o.Dir, "nats"), Listen: h.o.Listen,
		Monitor: h.o.Monitor, Keys: h.keys, Certificate: cert.TLS, MaxStore: h.o.Store, Warn: h.warned})
	if err != nil {
		return err
	}
	h.ca = cert.CA
	h.place = access.Place{Job: h.names.Job, URL: h.broker.URL(h.o.Advertise), ServerName: cert.ServerName}
	return nil
}

// Close ends the head. Do returns ErrClosed. Workers wait for the next head.
func (h *Head) Close() error {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	h.mu.Unlock()
	if !first {
		return nil
	}
	h.stop()
	if h.nc != nil {
		h.pulse(true)
		h.nc.FlushTimeout(closePatience)
		h.nc.Close()
	}
	h.running.Wait()
	if h.broker != nil {
		h.broker.Close()
	}
	return nil
}

// spawn runs f beside the caller, who holds the lock, and lets Close wait for it.
func (h *Head) spawn(f func()) {
	if h.closed {
		return
	}
	h.running.Go(f)
}

// warn logs an error of the connection. Errors that a closed connection causes are none.
func (h *Head) warn(err error) {
	if h.ctx.Err() == nil {
		h.logf("", "fleet: %v", err)
	}
}

// warned logs what the embedded server warns of. It does not answer publishers when its store fails.
func (h *Head) warned(format, line string) {
	h.logf(format, "fleet: NATS server: %s", line)
	if strings.Contains(format, "failed to store") { // not the line, in which clients' names are
		h.broken.Store(true)
		h.unwell(errors.New(line))
	}
}

// logf logs a line. What workers write is in most of them, and workers cause them: of one kind about one worker only as
// many are written as [foreign.Rate] allows.
func (h *Head) logf(about, format string, args ...any) {
	more, ok := h.rate.Allow(about + format)
	if !ok {
		return
	}
	line := foreign.Text(fmt.Sprintf(format, args...))
	if more != "" {
		line += " (" + more + ")"
	}
	h.o.Log(line)
}

// wake makes the loop look at the plan.
func (h *Head) wake() {
	h.changes.tell()
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// Creds is the path of the credentials file that workers need.
func (h *Head) Creds() string { return filepath.Join(h.o.Dir, "worker.creds") }

// URL is the address that workers connect to.
func (h *Head) URL() string { return h.place.URL }

// JoinLine is the command to run on another machine.
func (h *Head) JoinLine() string {
	return fmt.Sprintf("trinity worker --join %s --creds %s", h.place.URL, filepath.Base(h.Creds()))
}
