// Package place says at which key of the configuration an error belongs, so that trinity validate can show its line.
package place

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
)

// Arguments are the errors of single arguments inside an error.
func Arguments(err error) (list []*arg.Error) {
	if a, ok := err.(*arg.Error); ok {
		return []*arg.Error{a}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return Arguments(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			list = append(list, Arguments(part)...)
		}
	}
	return list
}

// Error is an error at a key of the configuration.
type Error struct {
	Key string
	Err error
}

func (e *Error) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the error without its place.
func (e *Error) Unwrap() error { return e.Err }

// At places an error at a key; one that has its place keeps it.
func At(key string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{key, err}
}

// AtArgs places an error about single arguments at the section of arguments; another one stays.
func AtArgs(section string, err error) error {
	if len(Arguments(err)) == 0 {
		return err
	}
	return At(section, err)
}
