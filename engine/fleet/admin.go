package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/access"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// expel revokes a worker. The caller holds the lock.
func (h *Head) expel(worker, reason string) {
	m := h.crew[worker]
	if m == nil {
		m = &member{}
		h.crew[worker] = m
	}
	m.refused = reason
	h.goneLocked(worker, "was removed")
	h.line.work.Start(func() { h.line.revoke(worker, reason) })
}

// Drain lets a worker finish what it has begun and gives it nothing more.
func (h *Head) Drain(worker string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := h.crew.find(worker)
	if err != nil {
		return err
	}
	m := h.crew[id]
	m.draining = true
	h.plan.Present(id, m.trip, m.paused != "", true)
	h.plan.Release(id, time.Now())
	h.wake()
	h.line.work.Start(func() { h.line.control(id, message.Control{Drain: true}) })
	return nil
}

// Remove refuses a worker from now on. Its tasks go to others.
func (h *Head) Remove(worker string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, err := h.crew.find(worker)
	if err != nil {
		return err
	}
	h.expel(id, "an operator removed it")
	return nil
}

// Rotate makes new credentials for workers to join with; the old ones are refused. Workers that are there stay.
func (h *Head) Rotate() error { return h.line.rotate() }

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
