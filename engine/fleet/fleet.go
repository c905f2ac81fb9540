// Package fleet carries tasks from a head to workers on other machines, over NATS.
//
// A task is a call of a pure function: equal tasks have equal answers, to the byte. So a task may be sent again, given
// to two workers and compared. The head's memory is the only place of record. Whatever NATS carries (tasks, the chunks
// of large blobs and answers, the KV bucket of presence) may be lost at any moment; the head sends it again. A worker's
// beats list the tasks that it holds: they are both acknowledgement and sign of life.
//
// The head ([Open]) is one process. Workers ([Join]) connect outward only, announce themselves, take tasks, answer,
// and may leave at any time.
package fleet

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// Need is a blob that a worker must hold to compute a task.
type Need = message.Need

// About describes a worker in its own words.
type About = message.About

// Task is one call of a pure function.
type Task struct {
	ID      string  // hex SHA-256 of Kind, Needs and Payload; see NewTask
	Kind    string  // the function
	Needs   []Need  // blobs, by hash
	Payload []byte  // the arguments
	Cost    float64 // expected work, in tokens of a forward pass; at least 1 is assumed
	Group   string  // tasks of one group share work: a prompt's prefix
	Tenant  string  // whose task it is: tenants have equal shares of the workers
	Shared  float64 // the part of Cost that a worker saves when it has computed another task of the group

	// Check reports what is wrong with the form of an answer; nil: every answer will do. An answer that it refuses is
	// none: the task is computed by others, and the worker has sent a bad message.
	Check func(payload []byte) error
}

// NewTask returns a task with its ID.
func NewTask(kind string, payload []byte, cost float64, needs ...Need) Task {
	return Task{ID: message.ID(kind, needs, payload), Kind: kind, Needs: needs, Payload: payload, Cost: cost}
}

// Result is the answer to a task.
type Result struct {
	Payload []byte
	Worker  string  // the worker's id; Here for the head itself
	Seconds float64 // computing time, as the worker states it
	Checked bool    // computed twice, or by the head itself

	sum string // SHA-256 of Payload
}

// Lean is the result without its payload, for Doubts and Used.
func (r Result) Lean() Result {
	r.Payload = nil
	return r
}

// Here is the name of the head among workers.
const Here = "head"

// Function computes tasks. It is called from several goroutines. have returns the path of a blob of the task's Needs;
// the file stays until Function returns. The context ends when nobody wants the answer any more. Equal tasks must have
// equal answers, on every machine.
type Function func(ctx context.Context, t Task, have func(hash string) (path string, err error)) ([]byte, error)

// Refused is the error of a worker that the head does not admit.
type Refused struct{ Reason string }

func (r *Refused) Error() string {
	return fmt.Sprintf("fleet: the head refuses this worker: %s", r.Reason)
}
