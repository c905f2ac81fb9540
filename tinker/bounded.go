package tinker

import (
	"context"
	"errors"
)

// ErrBusy means that a queue or the memory is full. The request was not accepted and has not used its number: send it
// again later.
var ErrBusy = errors.New("the service is busy")

// Bounded is a Service that limits its pending requests. A caller that promises a request before the Service has it (a
// log, a server) first asks whether there is room and then calls the Service with a [Promised] context, so that no
// promised request is lost.
type Bounded interface {
	// Room returns an error that wraps ErrBusy if an owner's request with that many tokens must not be promised now.
	Room(work Work, owner string, tokens int) error
}

// Work is a kind of request for Room.
type Work int

// The kinds of work. Each has its own queue.
const (
	Training Work = iota
	Sampling
)

// promised marks contexts.
type promised struct{}

// Promised returns a context for requests that must be accepted even if the queue is full, since they were promised to
// a client.
func Promised(ctx context.Context) context.Context { return context.WithValue(ctx, promised{}, true) }

// IsPromised reports whether ctx was made by Promised.
func IsPromised(ctx context.Context) bool { return ctx.Value(promised{}) != nil }

// Sized is a Service that limits the memory of models. A caller that promises a model before the Service has it first
// asks whether there is room.
type Sized interface {
	// RoomForModel and RoomForState return an error if there is no memory for the model of a request: a User error if
	// there never will be, one that wraps ErrBusy if there may be later. They may also return an error of the request
	// itself.
	RoomForModel(CreateModelRequest) error
	RoomForState(CreateFromStateRequest) error
}
