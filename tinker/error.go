package tinker

import (
	"errors"
	"fmt"
)

// Errors that a caller may look for with errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	ErrClosed   = errors.New("service closed")
	// ErrUnserved means that the service does not have a base model. It is an ErrNotFound.
	ErrUnserved = fmt.Errorf("no such base model: %w", ErrNotFound)
	// ErrUnusable means that a model exists but cannot be restored now: its base model is missing, or its data is
	// damaged. The request was not accepted.
	ErrUnusable = errors.New("cannot be used now")
	// ErrLost means that the service has lost a model, or weights to sample from, for instance in a restart. Its
	// checkpoints may still exist: CreateModelFromState continues from one.
	ErrLost = errors.New("the service lost it")
	// ErrSpent means that the number of a training request was used before, by a request that changed nothing in the
	// model. The request has not been accepted; under the next number it means the same.
	ErrSpent = errors.New("its number is used up; ask under the next one")
)

// Category says who can correct an error.
type Category string

// The categories of the protocol.
const (
	User    Category = "user"   // the request is wrong; sending it again does not help
	Server  Category = "server" // the service failed; the same request may succeed later
	Unknown Category = "unknown"
)

// Error is a failure with its category.
type Error struct {
	Category Category
	Err      error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Userf makes a User error; %w wraps as in fmt.Errorf.
func Userf(format string, args ...any) error {
	return &Error{Category: User, Err: fmt.Errorf(format, args...)}
}

// Serverf makes a Server error; %w wraps as in fmt.Errorf.
func Serverf(format string, args ...any) error {
	return &Error{Category: Server, Err: fmt.Errorf(format, args...)}
}

// CategoryOf returns err's category, Unknown if it has none.
func CategoryOf(err error) Category {
	var e *Error
	if errors.As(err, &e) {
		return e.Category
	}
	return Unknown
}
