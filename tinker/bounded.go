package tinker

import (
	"context"
	"errors"
)

// ErrBusy says that as much waits as may wait. The request was not accepted and has not used its number: send it again
// later.
var ErrBusy = errors.New("too much waits already")

// Bounded is a Service that bounds what waits. Whoever promises a request before the Service has it (a log, a server)
// asks first whether there is room and then calls the Service under a [Promised] context, so that nothing promised is
// lost.
type Bounded interface {
	// Room returns an error that wraps ErrBusy if an owner's request of so many tokens should not be promised now.
	Room(work Work, owner string, tokens int) error
}

// Work is a kind of request for Room.
type Work int

// The kinds of work. Each has a queue of its own.
const (
	Training Work = iota
	Sampling
)

// promised marks contexts.
type promised struct{}

// Promised returns a context for requests that must be taken even if the queue is full, since somebody was told that
// they are.
func Promised(ctx context.Context) context.Context { return context.WithValue(ctx, promised{}, true) }

// IsPromised says whether ctx was made by Promised.
func IsPromised(ctx context.Context) bool { return ctx.Value(promised{}) != nil }

// Sized is a Service that bounds the memory of models. Whoever promises a model before the Service has it asks first.
type Sized interface {
	// RoomForModel and RoomForState return an error if there is no memory for the model that a request makes: a User
	// error if there never will be, one that wraps ErrBusy if there may be later. An error of the request itself may be
	// returned too.
	RoomForModel(CreateModelRequest) error
	RoomForState(CreateFromStateRequest) error
}
