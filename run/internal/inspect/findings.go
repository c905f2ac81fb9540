package inspect

import (
	"errors"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// findings lists mistakes, and what could not be checked.
type findings struct {
	found   []*config.Problem
	unknown []string
}

// notHere is an error about something that is not downloaded yet, so it cannot be checked.
type notHere struct{ err error }

func (n *notHere) Error() string { return n.err.Error() }
func (n *notHere) Unwrap() error { return n.err }

// add notes what is wrong with the value of a key, each part of a joined error separately; an error that names an
// argument or a key of its own is noted there. It reports whether nothing is wrong and nothing unknown.
func (in *Inspection) add(key string, err error) bool {
	var absent *notHere
	switch list, joined := err.(interface{ Unwrap() []error }); {
	case err == nil:
		return true
	case joined:
		for _, e := range list.Unwrap() {
			in.add(key, e)
		}
	case errors.As(err, &absent):
		in.unknown = append(in.unknown, absent.Error())
	default:
		in.found = append(in.found, in.problem(key, err)...)
	}
	return false
}

func (in *Inspection) problem(key string, err error) (list []*config.Problem) {
	var own *algorithm.KeyError
	var placed *job.KeyError
	if errors.As(err, &own) {
		key += "." + own.Key
	} else if errors.As(err, &placed) {
		key = placed.Key
	}
	names := job.Arguments(err)
	if len(names) == 0 {
		if placed != nil {
			err = placed.Err
		}
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "run: "), "modelname: ")
		return []*config.Problem{in.Config.Problem(key, "%s", text)}
	}
	for _, a := range names {
		p := in.Config.Problem(key+"."+a.Name, "%s", a.Text)
		if a.Unknown {
			p = in.Config.KeyProblem(key+"."+a.Name, "%s", a.Text)
		}
		list = append(list, p)
	}
	return list
}
