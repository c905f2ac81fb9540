package fleet

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/blob"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// desk reads the messages of workers and operators. It refuses those that are malformed or come from others than they
// say, takes the rest to the head, and replies.
type desk struct {
	head    *Head
	line    *line
	fetches *semaphore.Weighted // bytes of large answers being read
}

// subscribe listens to workers and operators: the server knows of it when it returns.
func (d desk) subscribe() error {
	names := d.line.names
	for subject, f := range map[string]nats.MsgHandler{
		names.Enrol("*"): d.onEnrol, names.Announce("*"): d.onAnnounce, names.Beat("*"): d.onBeat,
		names.Result("*"): d.onResult, names.Want("*"): d.onWant, names.Admin(): d.onOrder,
	} {
		s, err := d.line.nc.Subscribe(subject, func(m *nats.Msg) {
			if d.line.genuine(m) {
				f(m)
			} else {
				d.line.strays.Add(1)
			}
		})
		if err == nil {
			err = s.SetPendingLimits(-1, int(min(d.head.o.Store, 256<<20)))
		}
		if err != nil {
			return fmt.Errorf("fleet: %w", err)
		}
	}
	if err := d.line.nc.Flush(); err != nil && !errors.Is(err, nats.ErrTimeout) { // a slow server gets to it
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// onEnrol gives a worker credentials of its own.
func (d desk) onEnrol(m *nats.Msg) {
	var e message.Enrolment
	if _, err := message.Decode(m.Data, &e); err != nil || m.Subject != d.line.names.Enrol(e.Key) {
		d.line.reply(m, message.Granted{Refused: "the request is malformed"})
		return
	}
	e.About = e.About.Fit()
	if why := d.refusal(e.Key, e.About); why != "" {
		d.line.reply(m, message.Granted{Refused: why})
		return
	}
	d.line.reply(m, d.line.granted(e))
}

// onAnnounce admits a worker, and sends again what did not reach it.
func (d desk) onAnnounce(m *nats.Msg) {
	worker := last(m.Subject)
	var a message.Announcement
	if _, err := message.Decode(m.Data, &a); err != nil {
		d.head.bad(worker, err.Error())
		d.line.reply(m, message.Welcome{Refused: err.Error()})
		return
	}
	a.About = a.About.Fit()
	if why := d.refusal(worker, a.About); why != "" {
		d.line.reply(m, message.Welcome{Refused: why})
		return
	}
	again, ok := d.head.admit(worker, a.About, a.Holds)
	if !ok {
		return // it asks again
	}
	o := d.head.o
	d.line.reply(m, message.Welcome{Head: d.line.start, Beat: o.Beat.Seconds(), Most: o.MaxAnswer})
	d.head.sendAll(worker, again)
}

// refusal returns why a worker may not take part, and logs it; "" is none.
func (d desk) refusal(worker string, a About) string {
	why := d.line.keys.Removed(worker)
	if why == "" {
		why = d.head.o.refusal(a)
	}
	if why != "" {
		d.line.logf("", "fleet: worker %s is refused: %s", a.Name, why)
	}
	return why
}

// onBeat notes that a worker is there, and sends again what did not reach it. Nobody is blamed for a malformed one: a
// beat has no reply subject, which would tell who sent it.
func (d desk) onBeat(m *nats.Msg) {
	worker := last(m.Subject)
	var b message.Beat
	if _, err := message.Decode(m.Data, &b); err != nil {
		d.line.strays.Add(1)
		return
	}
	b.About, b.Paused = b.About.Fit(), foreign.Line(b.Paused)
	if b.Gone {
		d.head.gone(worker, "left")
		return
	}
	if b.Head != d.line.start {
		return // it has not announced itself to this head
	}
	again, known := d.head.beat(worker, b)
	if !known {
		d.head.returned(worker, b.About)
	}
	d.head.sendAll(worker, again)
}

// onWant stores the chunks that a worker did not find, or sends it one.
func (d desk) onWant(m *nats.Msg) {
	worker := last(m.Subject)
	var w message.Want
	if _, err := message.Decode(m.Data, &w); err != nil {
		d.head.bad(worker, err.Error())
		return
	}
	d.head.shelf.want(m, worker, w, d.head.bad)
}

// onOrder does what an operator asks.
func (d desk) onOrder(m *nats.Msg) {
	var o message.Order
	_, err := message.Decode(m.Data, &o)
	if err == nil {
		switch o.Verb {
		case "status":
		case "drain":
			err = d.head.Drain(o.Worker)
		case "remove":
			err = d.head.Remove(o.Worker)
		case "rotate":
			err = d.head.Rotate()
		default:
			err = fmt.Errorf("fleet: no order %q", o.Verb)
		}
	}
	reply := orderReply{Status: d.head.Status()}
	if err != nil {
		reply.Error = err.Error()
	}
	data, err := json.Marshal(reply)
	if err == nil {
		err = m.Respond(data) // to admin's inbox, as genuine sees to
	}
	if err != nil {
		d.line.warn(err)
	}
}

// onResult takes a worker's answer. The reply lets the worker forget it.
func (d desk) onResult(m *nats.Msg) {
	worker := last(m.Subject)
	var r message.Result
	body, err := message.Decode(m.Data, &r)
	if most := d.head.o.MaxAnswer; err == nil && r.Payload != nil && (r.Payload.Size > most || len(body) > 0) {
		err = fmt.Errorf("an answer of %d bytes; the limit is %d", r.Payload.Size, most)
	}
	switch {
	case err != nil:
		d.head.bad(worker, err.Error())
		d.head.fail(worker, r.Task, err)
	case r.Head != d.line.start: // of a task that an earlier head gave
	case !d.head.expects(worker, r.Task):
		d.head.late(worker, r, body)
	case r.Payload != nil:
		if release, ok := d.head.claim(worker, r.Task); ok {
			d.line.work.Start(func() {
				defer release()
				d.fetch(m, worker, r)
			})
		}
		return
	default:
		d.head.receive(worker, r, body)
	}
	d.line.reply(m, message.Receipt{Done: true})
}

// fetch reads a large answer out of the store.
func (d desk) fetch(m *nats.Msg, worker string, r message.Result) {
	size := r.Payload.Size
	if err := d.fetches.Acquire(d.line.ctx, size); err != nil {
		return
	}
	defer d.fetches.Release(size)
	payload, err := d.collect(worker, *r.Payload)
	switch {
	case d.line.ctx.Err() != nil:
		return
	case errors.Is(err, errGone):
		d.line.reply(m, message.Receipt{Again: true})
		return
	case err != nil:
		d.head.bad(worker, err.Error())
		d.head.fail(worker, r.Task, err)
	default:
		d.head.receive(worker, r, payload)
	}
	d.line.reply(m, message.Receipt{Done: true})
	d.line.purge(d.line.names.Answers(), d.line.names.AnswerOf(worker, r.Payload.Hash))
}

// collect joins the chunks of an answer and checks its hash.
func (d desk) collect(worker string, n Need) ([]byte, error) {
	names := d.line.names
	payload := make([]byte, 0, min(n.Size, blob.Block*blob.Chunk)) // more as it comes
	for i := range blob.Chunks(n.Size) {
		chunk, err := stored(d.line.ctx, d.line.nc, names.Answers(), names.Answer(worker, n.Hash, i))
		if err != nil {
			return nil, err
		}
		if int64(len(payload)+len(chunk)) > n.Size {
			return nil, fmt.Errorf("an answer's chunks are larger than the %d bytes it states", n.Size)
		}
		payload = append(payload, chunk...)
	}
	if got := message.Hash(payload); got != n.Hash {
		return nil, fmt.Errorf("an answer's chunks have the hash %s and not %s", got, n.Hash)
	}
	return payload, nil
}
