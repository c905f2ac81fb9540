package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollEvery is how often Ready asks.
const pollEvery = 100 * time.Millisecond

// Ready asks until the program is ready. If the program or ctx ends before that, nothing is left of the program, and
// the error says why.
func (p *Process) Ready(ctx context.Context, ready func(context.Context) bool) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !ready(ctx) {
		select {
		case <-p.done:
			return fmt.Errorf("ended before it was ready: %w", p.Failure())
		case <-ctx.Done():
			p.Kill(context.Cause(ctx))
			<-p.done
			return p.WithTail(context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// Wait returns how the program ended, when nothing is left of it. The end of ctx kills it.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill(context.Cause(ctx))
		<-p.done
	}
	return p.err
}

// End is how the program ended, also with exit status 0. Only after Ended or Done.
func (p *Process) End() error {
	if p.err != nil {
		return p.err
	}
	return errors.New("exit status 0")
}

// Failure is End with the last lines that the program printed.
func (p *Process) Failure() error { return p.WithTail(p.End()) }

// WithTail adds the last lines that the program printed to an error.
func (p *Process) WithTail(err error) error {
	tail := p.Tail()
	if tail == "" {
		return err
	}
	return fmt.Errorf("%w; it printed last:\n%s", err, tail)
}
