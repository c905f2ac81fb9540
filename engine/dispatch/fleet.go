package dispatch

import (
	"context"
	"io"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

// Head is the part of *fleet.Head that a pool needs.
type Head interface {
	Do(ctx context.Context, t fleet.Task) (fleet.Result, error)
	Offer(hash string, size int64, open func() (io.ReadCloser, error))
	Withdraw(hash string)
	Room() int
	Workers() int
	Speed() float64
	Changed() <-chan struct{}
	Doubts(fleet.Result) bool
	Used(fleet.Task, fleet.Result)
}

// Over makes a fleet a carrier.
func Over(h Head) Carrier { return overFleet{h} }

type overFleet struct{ Head }

// Do implements Carrier.
func (o overFleet) Do(ctx context.Context, t Task) ([]byte, error) {
	var needs []fleet.Need
	for _, n := range t.Needs {
		needs = append(needs, fleet.Need{Hash: n.Hash, Size: n.Size})
	}
	task := fleet.NewTask(t.Kind, t.Payload, t.Cost, needs...)
	task.Group, task.Shared, task.Tenant, task.Check = t.Group, t.Shared, executor.Tenant(ctx), t.Check
	r, err := o.Head.Do(ctx, task)
	if err == nil && !r.Checked {
		executor.Note(ctx, receipt{o.Head, task, r.Lean()})
	}
	return r.Payload, err
}

// receipt is an executor.Receipt of a task.
type receipt struct {
	head   Head
	task   fleet.Task
	result fleet.Result // without a payload
}

// Doubted implements executor.Receipt.
func (r receipt) Doubted() bool { return r.head.Doubts(r.result) }

// Used implements executor.Receipt.
func (r receipt) Used() { r.head.Used(r.task, r.result) }
