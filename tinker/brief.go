package tinker

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxErrorText bounds the text of an error that is kept or sent, in bytes. What a request quotes may be as long as
// the request.
const maxErrorText = 2 << 10

// Brief returns err, or, if its text is long, an error with the beginning of it that has its category and is the same
// of this package's errors, and holds nothing else of err.
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

// BriefText is the beginning of a text that is long, with its length; a short one stays.
func BriefText(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	at := maxErrorText
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return fmt.Sprintf("%s… (cut; %d bytes in all)", string([]byte(text[:at])), len(text)) // a copy: the rest can go
}

// briefError is what is left of a long error.
type briefError struct {
	text string
	is   error
}

func (e *briefError) Error() string { return e.text }
func (e *briefError) Unwrap() error { return e.is }
