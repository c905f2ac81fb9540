package fleet

import (
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// publish sends a message that may be lost.
func (l *line) publish(subject string, v any, body []byte) error {
	data, err := message.Encode(v, body)
	if err != nil {
		return err
	}
	return l.nc.Publish(subject, data)
}

// control sends a message to one worker.
func (l *line) control(worker string, c message.Control) {
	if err := l.publish(l.names.Control(worker), c, nil); err != nil {
		l.warn(err)
	}
}

// pulse tells all workers that this head is there, or that it ends.
func (l *line) pulse(ends bool) {
	if err := l.publish(l.names.Pulse(), message.Pulse{Head: l.start, Ends: ends}, nil); err != nil {
		l.warn(err)
	}
}

// reply answers a genuine request.
func (l *line) reply(m *nats.Msg, v any) { l.replyWith(m, v, nil) }

// replyWith answers a genuine request with a body.
func (l *line) replyWith(m *nats.Msg, v any, body []byte) {
	data, err := message.Encode(v, body)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		l.warn(err)
	}
}

// genuine reports whether a message is from whom its subject names. The server lets nobody else publish there, but
// anybody may name any subject for the reply to a request: what the server itself says to it, with an acknowledgement
// or a chunk of JetStream, then comes here. Such messages have headers or no reply subject. Those of workers have no
// headers, and the reply to a request goes to the sender's own inbox: the head may publish anywhere, and publishes
// nowhere else for a worker.
func (l *line) genuine(m *nats.Msg) bool {
	if len(m.Header) > 0 {
		return false
	}
	who := last(m.Subject)
	switch m.Subject {
	case l.names.Beat(who):
		return true
	case l.names.Enrol(who):
		who = "enrol." + who
	}
	return strings.HasPrefix(m.Reply, l.names.Inbox(who)+".")
}

// last is the last token of a subject: there, a worker's id.
func last(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }
