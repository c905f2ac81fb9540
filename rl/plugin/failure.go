package plugin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// Failure is a call of a plug-in that failed: nothing that it could have returned is used.
type Failure struct {
	Name      string // of the part
	Err       error
	Traceback string   // as Python prints it, or where a call stood that was given up; "" if there is none
	Said      []string // prompts and answers up to there
}

// Error names the part, the exception and the line of the user's file.
func (f *Failure) Error() string {
	var raised *python.Error
	text := f.Err.Error()
	if errors.As(f.Err, &raised) {
		text = fmt.Sprintf("%s: %s", raised.Type, raised.Message)
	}
	if at := place(f.Traceback); at != "" {
		text = fmt.Sprintf("%s (%s)", text, at)
	}
	return fmt.Sprintf("%s: %s", f.Name, text)
}

// Unwrap returns the error of the call.
func (f *Failure) Unwrap() error { return f.Err }

// Transcript is what was said up to the failure, prompts and answers in turn, and where it happened.
func (f *Failure) Transcript() (said []string, traceback string) { return f.Said, f.Traceback }

// failed wraps the error of a call.
func failed(name string, err error, said []string) error {
	f := &Failure{Name: name, Err: err, Said: said}
	var raised *python.Error
	var gone *python.Cancelled
	switch {
	case errors.As(err, &raised):
		f.Traceback = raised.Traceback
	case errors.As(err, &gone):
		f.Traceback = gone.Stack
	}
	return f
}

var frame = regexp.MustCompile(`(?m)^\s*File "([^"]+)", line (\d+)`)

// place is the last line of a traceback that is not in the carried library.
func place(traceback string) string {
	at := ""
	for _, m := range frame.FindAllStringSubmatch(traceback, -1) {
		if !strings.Contains(m[1], "/trinity/_") && !strings.Contains(m[1], "/lib-") && !strings.HasPrefix(m[1], "<") {
			at = m[1] + ":" + m[2]
		}
	}
	return at
}
