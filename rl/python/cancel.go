package python

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// whereTimeout is how long a cancelled call may take to say where it is.
const whereTimeout = time.Second

// giveUp cancels a call whose context ended, and returns when Python said where it was, or not in time.
func (p *process) giveUp(c *call, cause error) error {
	p.mu.Lock()
	c.given = true
	p.mu.Unlock()
	p.host.spawn(func() { p.watch(c) })
	e := &Cancelled{Call: c.name, Cause: cause}
	ctx, cancel := context.WithTimeout(context.Background(), whereTimeout)
	defer cancel()
	if !p.queue(ctx, cancelLine(c.id)) {
		return e
	}
	select {
	case e.Stack = <-c.where:
	case m := <-c.answer: // it ended in the same moment
		if m.Error != nil {
			e.Stack = m.Error.Traceback
		}
	case <-p.gone:
	case <-ctx.Done():
	}
	return e
}

// watch waits for the end of a cancelled call. If it does not end the process is retired: another takes its place, its
// other calls may finish. If it does not answer a ping either, they cannot, and it is killed.
func (p *process) watch(c *call) {
	timer := time.NewTimer(p.host.opts.Grace)
	defer timer.Stop()
	select {
	case <-p.gone:
		return
	case <-c.ended:
		return
	case <-timer.C:
	}
	p.mu.Lock()
	hung := p.calls[c.id] != nil
	p.retired = p.retired || hung
	p.mu.Unlock()
	if !hung {
		return
	}
	p.over()
	ctx, cancel := context.WithTimeout(context.Background(), p.host.opts.Grace)
	defer cancel()
	err := p.call(ctx, "host.ping", struct{}{}, nil, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		p.kill(fmt.Errorf("it hangs in %s, which was cancelled %s ago", c.name, 2*p.host.opts.Grace))
	}
}

// over kills a retired process when nothing that it has left will end.
func (p *process) over() {
	if p.finished() {
		p.kill(errors.New("it was replaced, because a cancelled call did not end"))
	}
}

// finished reports whether a retired process has nothing left but calls that were given up, and others that wait while
// those hold all threads.
func (p *process) finished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	given, waiting := 0, 0
	for _, c := range p.calls {
		switch {
		case c.given:
			given++
		case c.waits:
			waiting++
		}
	}
	if !p.retired || given+waiting < len(p.calls) {
		return false
	}
	return waiting == 0 && p.sessions == 0 || waiting > 0 && given >= p.host.opts.Threads
}
