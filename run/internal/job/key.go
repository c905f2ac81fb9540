package job

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

// KeyError is an error at a key of the configuration, whose line trinity validate shows.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the error without its place.
func (e *KeyError) Unwrap() error { return e.Err }

// AtKey places an error at a key; one that has its place keeps it.
func AtKey(key string, err error) error {
	var e *KeyError
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &KeyError{key, err}
}

// AtArguments places an error about single arguments at the section of arguments; another one stays.
func AtArguments(section string, err error) error {
	if len(Arguments(err)) == 0 {
		return err
	}
	return AtKey(section, err)
}
