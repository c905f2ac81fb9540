package config

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// Problem is one thing that is wrong with a configuration. An error of [Load] joins one for each.
type Problem = document.Problem

// CommandLine reports whether an error of [Load], or one that joins problems, is about what the command line says.
func CommandLine(err error) bool {
	list, joined := err.(interface{ Unwrap() []error })
	if !joined {
		p, ok := err.(*Problem)
		return ok && p.CommandLine
	}
	return slices.ContainsFunc(list.Unwrap(), CommandLine)
}

// Problem reports a value that a part of the run refuses after loading, at the place of key or, if the key is not
// given, of the nearest section around it.
func (c *Config) Problem(key, format string, args ...any) *Problem {
	k := checker{c: c}
	k.bad(key, format, args...)
	return k.found[0]
}

// KeyProblem is Problem for a key that should not be there: its place is the key, not the value.
func (c *Config) KeyProblem(key, format string, args ...any) *Problem {
	at, ok := c.tree.KeyPosition(key)
	if !ok {
		return c.Problem(key, format, args...)
	}
	var found document.Problems
	found.Add(at, key, format, args...)
	return found[0]
}

// Problems joins problems in the order of the text, as the error of [Load] does; nil if there are none.
func Problems(list []*Problem) error {
	if len(list) == 0 {
		return nil
	}
	return document.Problems(list).Err()
}

// problemReading says why a file could not be read.
func problemReading(path string, err error) error {
	p := &Problem{File: path, Text: "cannot read the configuration: " + err.Error(), CommandLine: true}
	switch {
	case path == "":
		p.Text = "no configuration file named; give one with --config FILE"
	case errors.Is(err, fs.ErrNotExist):
		p.Text = "no such file; give the path of a YAML configuration with --config"
	case errors.Is(err, fs.ErrPermission):
		p.Text = "may not be read (permission denied); check its owner and mode"
	}
	return p
}
