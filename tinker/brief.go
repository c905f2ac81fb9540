package tinker

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// maxErrorText limits the text of an error that is kept or sent, in bytes. An error that quotes a request may be as
// long as the request.
const maxErrorText = 2 << 10

// Brief returns err or, if its text is long, an error with the beginning of the text. That error has the same
// category, wraps the same errors of this package, and keeps nothing else of err.
func Brief(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= maxErrorText {
		return err
	}
	short := &briefError{text: BriefText(text)}
	for _, known := range []error{ErrUnloaded, ErrNotFound, ErrExists, ErrClosed, ErrBusy} {
		if errors.Is(err, known) {
			short.is = known
			break
		}
	}
	if c := CategoryOf(err); c != Unknown {
		return &Error{Category: c, Err: short}
	}
	return short
}

// BriefText returns the beginning of a long text and its length; it returns a short text unchanged.
func BriefText(text string) string { return foreign.Cut(text, maxErrorText) }

// briefError is a shortened error.
type briefError struct {
	text string
	is   error
}

func (e *briefError) Error() string { return e.text }
func (e *briefError) Unwrap() error { return e.is }
