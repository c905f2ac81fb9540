package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// Open finds a sandbox and tries it. The program that calls it must call Stage first thing in main.
func Open(ctx context.Context, o Options) (*Box, error) {
	switch o.Kind {
	case None:
		return &Box{kind: None, note: "no isolation"}, nil
	}
	if !o.Staged {
		return nil, refuse(unstaged)
	}
	switch o.Kind {
	case Bubblewrap:
		b, err := openBubblewrap(ctx, o.Bubblewrap)
		if err != nil {
			return nil, refusal(ctx, err)
		}
		return b, nil
	case Namespaces:
		b, err := openNamespaces(ctx)
		if err != nil {
			return nil, refusal(ctx, err)
		}
		return b, nil
	}
	b, first := openBubblewrap(ctx, o.Bubblewrap)
	if first == nil {
		return b, nil
	}
	b, second := openNamespaces(ctx)
	if second == nil {
		return b, nil
	}
	return nil, refusal(ctx, first, second)
}

// refusal is the error of Open, unless ctx ended.
func refusal(ctx context.Context, tried ...error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var reasons []string
	for _, err := range tried {
		reasons = append(reasons, err.Error())
	}
	return refuse(reasons...)
}

func openBubblewrap(ctx context.Context, path string) (*Box, error) {
	if path == "" {
		found, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, errors.New("bubblewrap (bwrap) is not installed")
		}
		path = found
	}
	b := &Box{kind: Bubblewrap, bwrap: path}
	if err := b.probe(ctx); err != nil {
		return nil, fmt.Errorf("bubblewrap fails here: %w", err)
	}
	return b, nil
}

func openNamespaces(ctx context.Context) (*Box, error) {
	b := &Box{kind: Namespaces}
	err := b.probe(ctx)
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EINVAL):
		return nil, fmt.Errorf("the kernel or the container gives this user no namespaces (%w)", err)
	case err != nil:
		return nil, fmt.Errorf("namespaces fail here: %w", err)
	}
	return b, nil
}

// probe goes through a whole run without a program, and notes what the sandbox lacks. Cgroups are used where they work.
func (b *Box) probe(ctx context.Context) error {
	if b.cgroups = findCgroups(); b.cgroups != nil && b.kind == Bubblewrap && !b.cgroups.unified {
		b.cgroups = nil // it makes processes before it can be moved
	}
	rep, err := b.stages(ctx, spec{Limits: DefaultLimits()}, Job{Limits: DefaultLimits()}, nil)
	if err != nil && b.cgroups != nil {
		b.cgroups = nil
		rep, err = b.stages(ctx, spec{Limits: DefaultLimits()}, Job{Limits: DefaultLimits()}, nil)
	}
	if err != nil {
		return err
	}
	b.note = rep.Notes
	return nil
}
