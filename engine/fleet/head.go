package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/schedule"
)

// ErrClosed is the error of a call to a head that was closed.
var ErrClosed = errors.New("fleet: the head is closed")

// Head gives tasks to workers. Its methods may be called from several goroutines.
type Head struct {
	o       HeadOptions
	line    *line
	shelf   *shelf
	kick    chan struct{}
	changes changes
	metrics net.Addr // of HeadOptions.Metrics

	mu      sync.Mutex
	plan    *schedule.Plan
	open    map[string]*open
	recent  recent
	used    used
	crew    crew
	liars   map[string]bool
	local   map[string]context.CancelFunc
	counts  counts
	waiting time.Time // since when tasks wait and nobody is there
}

// counts are totals since the start, for Status and metrics.
type counts struct {
	Done, Checked, Unchecked, Resent, Disputes int64
	Audited, UsedWrong                         int64
	TaskBytes, AnswerBytes                     int64
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
	l := newLine(o, keys)
	h := &Head{o: o, line: l, shelf: newShelf(l), kick: make(chan struct{}, 1), plan: schedule.New(o.Prefetch),
		open: map[string]*open{}, crew: crew{}, liars: map[string]bool{}, local: map[string]context.CancelFunc{}}
	if o.Local != nil {
		h.plan.Join(schedule.Worker{ID: Here, Slots: max(1, o.LocalSlots), Reserve: o.LocalSlots == 0})
	}
	return h
}

// begin connects and starts the head's goroutines.
func (h *Head) begin(ctx context.Context) (err error) {
	if err := h.shelf.openCache(); err != nil {
		return err
	}
	if err := h.line.open(ctx, h.resend); err != nil {
		return err
	}
	d := desk{head: h, line: h.line, fetches: semaphore.NewWeighted(h.o.MaxAnswer)}
	if err := d.subscribe(); err != nil {
		return err
	}
	if h.o.Metrics != "" {
		if h.metrics, err = h.line.serveMetrics(h.Status); err != nil {
			return err
		}
	}
	h.line.work.Start(h.loop)
	h.line.work.Start(h.line.mending)
	return nil
}

// Close ends the head. Do returns ErrClosed. Workers wait for the next head.
func (h *Head) Close() error {
	if h.line.work.Close() {
		h.line.close()
	}
	return nil
}

// wake makes the loop look at the plan.
func (h *Head) wake() {
	h.changes.tell()
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// Offer lets workers ask for a blob. open may be called several times and at once; what it returns is read once, or
// from any place if it is an io.Seeker. Nothing is sent until a worker asks. When a blob is offered again before it is
// withdrawn, the first open still reads it.
func (h *Head) Offer(hash string, size int64, open func() (io.ReadCloser, error)) {
	h.shelf.offer(hash, size, open)
}

// Withdraw ends an offer, when as many calls of Withdraw as of Offer were made. Its chunks are removed.
func (h *Head) Withdraw(hash string) { h.shelf.withdraw(hash) }

// Creds is the path of the credentials file that workers need.
func (h *Head) Creds() string { return h.line.creds() }

// URL is the address that workers connect to.
func (h *Head) URL() string { return h.line.place.URL }

// JoinLine is the command to run on another machine.
func (h *Head) JoinLine() string {
	return fmt.Sprintf("trinity worker --join %s --creds %s", h.URL(), filepath.Base(h.Creds()))
}

// MetricsURL is where Prometheus reads; "": nowhere.
func (h *Head) MetricsURL() string {
	if h.metrics == nil {
		return ""
	}
	return "http://" + h.metrics.String() + "/metrics"
}
