package job

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
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

// Unread tells of an argument of a section that is given and that nothing reads, and why: by a note, or as an error if
// it is probably another one misspelt. near is "; did you mean NAME?", or empty.
func (j *Job) Unread(section, name, why, near string) error {
	if near != "" {
		return AtKey(section, &arg.Error{Name: name, Text: "unknown argument: " + why + near, Unknown: true})
	}
	j.NoteUnread(section+"."+name, why)
	return nil
}

// NoteUnread notes a key that is given and that nothing reads, with its place.
func (j *Job) NoteUnread(key, why string) {
	text := fmt.Sprintf("%s is not used: %s", key, why)
	if o := j.Config.Origin(key); o.Kind == config.FromFile {
		text = o.String() + ": " + text
	}
	j.Notes.Add(text)
}

// AtArguments places an error about single arguments at the section of arguments; another one stays.
func AtArguments(section string, err error) error {
	if len(Arguments(err)) == 0 {
		return err
	}
	return AtKey(section, err)
}
