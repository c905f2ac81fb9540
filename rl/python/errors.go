package python

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an exception of a Python function.
type Error struct {
	Call      string // name of the call
	Type      string // class of the exception, as ValueError
	Message   string
	Traceback string // as Python prints it
}

// Error gives class and message; the traceback is for who shows more than a line.
func (e *Error) Error() string {
	return fmt.Sprintf("python: %s: %s: %s", e.Call, e.Type, e.Message)
}

// ErrClosed is the reason of calls that Close ended, and of those after it.
var ErrClosed = errors.New("the host is closed")

// Lost says that a process died, hung or broke the protocol, so its calls have no result. They can be made again: the
// process is replaced.
type Lost struct {
	Call    string // name of the call that failed
	Process int    // index of the process
	Reason  error  // how it ended
	Stderr  string // the last lines that it wrote to stderr
}

// Error gives the reason and the last lines of stderr.
func (e *Lost) Error() string {
	text := fmt.Sprintf("python: %s: process %d is lost: %v", e.Call, e.Process, e.Reason)
	if e.Stderr != "" {
		text += "\n" + strings.TrimRight(e.Stderr, "\n")
	}
	return text
}

// Unwrap returns the reason.
func (e *Lost) Unwrap() error { return e.Reason }

// Cancelled says that a call's context ended before its result came.
type Cancelled struct {
	Call  string
	Cause error  // of the context
	Stack string // where the call was, as Python prints it; "" if it did not say in time
}

// Error gives the cause; the stack is for who shows more than a line.
func (e *Cancelled) Error() string { return fmt.Sprintf("python: %s: %v", e.Call, e.Cause) }

// Unwrap returns the cause, such as context.DeadlineExceeded.
func (e *Cancelled) Unwrap() error { return e.Cause }
