package fleet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/schedule"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

const (
	lostBeats = 4       // beats missed, after which a worker is lost
	mostBad   = 8       // malformed or foreign messages, after which a worker is removed
	mostCrew  = 1 << 14 // workers that the head remembers
)

// member is a worker that is or was there.
type member struct {
	about    About
	here     bool
	since    time.Time
	seen     time.Time
	trip     time.Duration
	paused   string
	draining bool // by an operator
	leaving  bool
	refused  string
	failures int             // errors of its function
	bad      int             // messages refused
	lost     int             // times that it went away with tasks
	past     schedule.Report // of its earlier times here
}

// name is a worker's readable name. The caller holds the lock.
func (h *Head) name(worker string) string {
	if m := h.crew[worker]; m != nil && m.about.Name != "" {
		return fmt.Sprintf("%s (%.8s)", m.about.Name, worker)
	}
	return fmt.Sprintf("%.8s", worker)
}

// refusal returns why a worker may not take part, or "".
func (h *Head) refusal(worker string, a About) string {
	if why := h.keys.Removed(worker); why != "" {
		return why
	}
	if h.o.Version != "" && a.Version != h.o.Version {
		return fmt.Sprintf("it is version %s and the head is %s; install trinity %s there",
			cmp.Or(a.Version, "unknown"), h.o.Version, h.o.Version)
	}
	if h.o.Numerics != "" && a.Numerics != h.o.Numerics {
		return fmt.Sprintf("its numerics are %q and the head's %q; answers would differ", a.Numerics, h.o.Numerics)
	}
	if h.o.Admit != nil {
		if err := h.o.Admit(a); err != nil {
			return err.Error()
		}
	}
	return ""
}

// onEnrol gives a worker credentials of its own.
func (h *Head) onEnrol(m *nats.Msg) {
	var e message.Enrolment
	if _, err := message.Decode(m.Data, &e); err != nil || m.Subject != h.names.Enrol(e.Key) {
		h.reply(m, message.Granted{Refused: "the request is malformed"})
		return
	}
	e.About = e.About.Fit()
	if why := h.refusal(e.Key, e.About); why != "" {
		h.refuse(e.About, why)
		h.reply(m, message.Granted{Refused: why})
		return
	}
	if h.broker == nil && h.o.Signer == "" { // the cluster's users are its operator's
		h.reply(m, message.Granted{})
		return
	}
	text, err := h.keys.UserJWT(e.Key, e.About.Name, access.WorkerRights(h.names, e.Key))
	if err != nil {
		h.reply(m, message.Granted{Refused: err.Error()})
		return
	}
	h.reply(m, message.Granted{JWT: text})
}

// onAnnounce admits a worker, and sends again what did not reach it.
func (h *Head) onAnnounce(m *nats.Msg) {
	worker := last(m.Subject)
	var a message.Announcement
	if _, err := message.Decode(m.Data, &a); err != nil {
		h.bad(worker, err.Error())
		h.reply(m, message.Welcome{Refused: err.Error()})
		return
	}
	a.About = a.About.Fit()
	if why := h.refusal(worker, a.About); why != "" {
		h.refuse(a.About, why)
		h.reply(m, message.Welcome{Refused: why})
		return
	}
	again, ok := h.admit(worker, a.About, a.Holds)
	if !ok {
		return // it asks again
	}
	h.reply(m, message.Welcome{Head: h.start, Beat: h.o.Beat.Seconds(), Most: h.o.MaxAnswer})
	for _, id := range again {
		h.send(worker, id)
	}
}

// refuse says that a worker is refused.
func (h *Head) refuse(a About, why string) {
	h.logf("", "fleet: worker %s is refused: %s", a.Name, why)
}

// onBeat notes that a worker is there, and sends again what did not reach it. Nobody is blamed for a malformed one: a
// beat has no reply subject, which would tell who sent it.
func (h *Head) onBeat(m *nats.Msg) {
	worker := last(m.Subject)
	var b message.Beat
	if _, err := message.Decode(m.Data, &b); err != nil {
		h.stray()
		return
	}
	b.About, b.Paused = b.About.Fit(), foreign.Line(b.Paused)
	if b.Gone {
		h.gone(worker, "left")
		return
	}
	if b.Head != h.start {
		return // it has not announced itself to this head
	}
	again, known := h.beat(worker, b)
	if !known {
		h.returned(worker, b.About)
	}
	for _, id := range again {
		h.send(worker, id)
	}
}

// returned takes a worker in again that was thought to be lost.
func (h *Head) returned(worker string, a About) {
	h.mu.Lock()
	m := h.crew[worker]
	back := m != nil && m.refused == ""
	h.mu.Unlock()
	if back {
		h.admit(worker, a, nil) // there is room for whom the head remembers
	}
}

// bad counts a message that breaks the rules. Too many end a worker's part.
func (h *Head) bad(worker, what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.Strays++
	m := h.crew[worker]
	if m == nil {
		return
	}
	m.bad++
	what = foreign.Line(what)
	h.logf(worker, "fleet: a message of worker %s is refused: %s", h.name(worker), what)
	if m.bad == mostBad {
		h.setAside(worker, fmt.Sprintf("%d of its messages were refused, the last because: %s", m.bad, what))
	}
}

// last is the last token of a subject: there, a worker's id.
func last(subject string) string {
	for i := len(subject) - 1; i >= 0; i-- {
		if subject[i] == '.' {
			return subject[i+1:]
		}
	}
	return subject
}

// stray counts a message that is none of whom its subject names.
func (h *Head) stray() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.Strays++
}

// genuine reports whether a message is from whom its subject names. The server lets nobody else publish there, but
// anybody may name any subject for the reply to a request: what the server itself says to it, with an acknowledgement
// or a chunk of JetStream, then comes here. Such messages have headers or no reply subject. Those of workers have no
// headers, and the reply to a request goes to the sender's own inbox: the head may publish anywhere, and publishes
// nowhere else for a worker.
func (h *Head) genuine(m *nats.Msg) bool {
	if len(m.Header) > 0 {
		return false
	}
	who := last(m.Subject)
	switch m.Subject {
	case h.names.Beat(who):
		return true
	case h.names.Enrol(who):
		who = "enrol." + who
	}
	return strings.HasPrefix(m.Reply, h.names.Inbox(who)+".")
}

// reply answers a genuine request.
func (h *Head) reply(m *nats.Msg, v any) { h.replyWith(m, v, nil) }

// replyWith answers a genuine request with a body.
func (h *Head) replyWith(m *nats.Msg, v any, body []byte) {
	data, err := message.Encode(v, body)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		h.warn(err)
	}
}
