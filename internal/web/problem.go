package web

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Problem is an error with its status of HTTP.
type Problem struct {
	Status int
	Err    error
	After  time.Duration // Retry-After; 0 is none
}

// Error implements error.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap is for errors.Is and errors.As.
func (p *Problem) Unwrap() error { return p.Err }

// Problemf makes a Problem.
func Problemf(code int, format string, args ...any) error {
	return &Problem{Status: code, Err: fmt.Errorf(format, args...)}
}

// later asks the client to send the request again.
func later(format string, args ...any) error {
	return &Problem{http.StatusServiceUnavailable, fmt.Errorf(format+"; send this one again later", args...),
		time.Second}
}

func tooLarge(most int64, limit string) error {
	return Problemf(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes (%s); send smaller batches",
		most, limit)
}

// bodyError gives an error of reading its status.
func bodyError(err error) error {
	var p *Problem
	switch {
	case err == nil, errors.As(err, &p):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Problemf(http.StatusRequestTimeout, "reading the body: %w", err)
	}
	return Problemf(http.StatusBadRequest, "reading the body: %w", err)
}
