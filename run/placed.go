package run

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
)

// arguments are the errors of single arguments inside an error.
func arguments(err error) (list []*arg.Error) {
	if a, ok := err.(*arg.Error); ok {
		return []*arg.Error{a}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return arguments(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			list = append(list, arguments(part)...)
		}
	}
	return list
}

// placed is an error at a key of the configuration.
type placed struct {
	key string
	err error
}

func (p *placed) Error() string { return p.key + ": " + p.err.Error() }
func (p *placed) Unwrap() error { return p.err }

// at places an error at a key; one that has its place keeps it.
func at(key string, err error) error {
	var p *placed
	if err == nil || errors.As(err, &p) {
		return err
	}
	return &placed{key, err}
}

// atArgs places an error about single arguments at the section of arguments; another one stays.
func atArgs(section string, err error) error {
	if len(arguments(err)) == 0 {
		return err
	}
	return at(section, err)
}

// notHere is an error about something that a run would fetch, so that nobody knows yet whether it is right.
type notHere struct{ err error }

func (n *notHere) Error() string { return n.err.Error() }
func (n *notHere) Unwrap() error { return n.err }
