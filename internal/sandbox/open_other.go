//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"runtime"
)

// Open refuses every kind but None: this system has no namespaces.
func Open(_ context.Context, o Options) (*Box, error) {
	if o.Kind == None {
		return &Box{kind: None, note: "no isolation"}, nil
	}
	return nil, refuse(runtime.GOOS+" has no namespaces", "run on Linux, in a virtual machine for example")
}

// Stage reports false: without sandboxes no process is a stage.
func Stage([]string) (code int, is bool) { return 0, false }

func (b *Box) run(context.Context, Job) (Result, error) {
	return Result{}, errors.New("sandbox: no namespaces here")
}

// cgroups exist on Linux only.
type cgroups struct{}
