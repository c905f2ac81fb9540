package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// writeCredentials writes worker.creds and admin.creds. Both stay valid over starts of the head.
func (h *Head) writeCredentials() error {
	if h.o.URL != "" && h.o.Signer == "" {
		return h.writeShared()
	}
	worker, err := h.keys.EnrolUser()
	if err != nil {
		return err
	}
	admin, err := h.keys.NewUser("admin", access.AdminRights(h.names))
	if err != nil {
		return err
	}
	for name, c := range map[string]access.Credentials{"worker.creds": worker, "admin.creds": admin} {
		c.Place, c.CA = h.place, h.ca
		if err := c.Save(filepath.Join(h.o.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// writeShared writes credentials for a cluster whose users its operator makes: all have those of the head. Who runs
// the cluster may hand out others, with the rights that examples/fleet/README.md lists.
func (h *Head) writeShared() error {
	var c access.Credentials
	if h.o.Creds != "" {
		var err error
		if c, err = access.Read(h.o.Creds); err != nil {
			return err
		}
	}
	c.Place, c.CA = h.place, h.ca
	return errors.Join(c.Save(h.Creds()), c.Save(filepath.Join(h.o.Dir, "admin.creds")))
}

// expel revokes a worker. The caller holds the lock.
func (h *Head) expel(worker, reason string) {
	m := h.crew[worker]
	if m == nil {
		m = &member{}
		h.crew[worker] = m
	}
	m.refused = reason
	h.goneLocked(worker, "was removed")
	h.spawn(func() {
		h.control(worker, message.Control{Refused: reason})
		err := h.nc.Flush()
		if err == nil {
			err = h.keys.Remove(worker, reason)
		}
		if err == nil && h.broker != nil {
			err = h.broker.Renew()
		}
		if err != nil {
			h.warn(err)
		}
	})
}

// Drain lets a worker finish what it has begun and gives it nothing more.
func (h *Head) Drain(worker string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := h.find(worker)
	if err != nil {
		return err
	}
	m := h.crew[id]
	m.draining = true
	h.plan.Present(id, m.trip, m.paused != "", true)
	h.plan.Release(id, time.Now())
	h.wake()
	h.spawn(func() { h.control(id, message.Control{Drain: true}) })
	return nil
}

// Remove refuses a worker from now on. Its tasks go to others.
func (h *Head) Remove(worker string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := h.find(worker)
	if err != nil {
		return err
	}
	h.expel(id, "an operator removed it")
	return nil
}

// Rotate makes new credentials for workers to join with; the old ones are refused. Workers that are there stay.
func (h *Head) Rotate() error {
	if h.broker == nil {
		return fmt.Errorf("fleet: the credentials of %s are made by its operator", h.o.URL)
	}
	if err := h.keys.Rotate(); err != nil {
		return err
	}
	if err := h.broker.Renew(); err != nil {
		return err
	}
	return h.writeCredentials()
}

// find finds a worker by its id, the beginning of it, or its name. The caller holds the lock.
func (h *Head) find(worker string) (string, error) {
	var found []string
	for id, m := range h.crew {
		if id == worker {
			return id, nil
		}
		if worker != "" && (strings.HasPrefix(id, worker) || m.about.Name == worker) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("fleet: no worker %q; trinity fleet lists them", worker)
	}
	return "", fmt.Errorf("fleet: %d workers are called %q; use the id", len(found), worker)
}

// onOrder does what an operator asks.
func (h *Head) onOrder(m *nats.Msg) {
	var o message.Order
	_, err := message.Decode(m.Data, &o)
	if err == nil {
		switch o.Verb {
		case "status":
		case "drain":
			err = h.Drain(o.Worker)
		case "remove":
			err = h.Remove(o.Worker)
		case "rotate":
			err = h.Rotate()
		default:
			err = fmt.Errorf("fleet: no order %q", o.Verb)
		}
	}
	reply := orderReply{Status: h.Status()}
	if err != nil {
		reply.Error = err.Error()
	}
	data, err := json.Marshal(reply)
	if err == nil {
		err = m.Respond(data) // to admin's inbox, as genuine sees to
	}
	if err != nil {
		h.warn(err)
	}
}

type orderReply struct {
	Error  string
	Status Status
}

// Ask sends an order to the head of a job: status, drain, remove or rotate. dir is the head's folder, with admin.creds.
func Ask(dir, verb, worker string) (Status, error) {
	path := filepath.Join(dir, "admin.creds")
	if _, err := os.Stat(path); err != nil {
		return Status{}, fmt.Errorf("fleet: %s is no folder of a fleet: %w", dir, err)
	}
	c, err := access.Read(path)
	if err != nil {
		return Status{}, err
	}
	nc, err := connect(c.Place.URL, c, "trinity fleet", "_INBOX.admin")
	if err != nil {
		return Status{}, fmt.Errorf("%w; does the head run?", err)
	}
	defer nc.Close()
	data, err := message.Encode(message.Order{Verb: verb, Worker: worker}, nil)
	if err != nil {
		return Status{}, err
	}
	m, err := nc.Request(message.Names{Job: c.Place.Job}.Admin(), data, dialPatience)
	if err != nil {
		return Status{}, fmt.Errorf("fleet: the head does not answer: %w", err)
	}
	var reply orderReply
	if err := json.Unmarshal(m.Data, &reply); err != nil {
		return Status{}, fmt.Errorf("fleet: the head's answer: %w", err)
	}
	if reply.Error != "" {
		return reply.Status, fmt.Errorf("%s", reply.Error)
	}
	return reply.Status, nil
}
