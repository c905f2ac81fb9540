package python

import (
	"context"
	"encoding/json"
	"fmt"
)

// call is a call in progress.
type call struct {
	id     uint64
	name   string
	task   string
	ctx    context.Context
	clock  clock
	up     Up
	answer chan message // one, with a result or an error
	where  chan string  // one
	ended  chan struct{}
	given  bool // up: nobody waits for it; under process.mu
	waits  bool // it has not begun; under process.mu
}

// Call implements Caller for a process that is in use. errRetired says that it takes no more.
func (p *process) Call(ctx context.Context, name string, args, result any, up Up) error {
	if !p.usable() {
		return errRetired
	}
	return p.call(ctx, name, args, result, up)
}

// call makes a call, also on a process that is being retired.
func (p *process) call(ctx context.Context, name string, args, result any, up Up) error {
	if ctx.Err() != nil {
		return &Cancelled{Call: name, Cause: context.Cause(ctx)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := startClock(ctx, cancel)
	defer clock.stop()
	c := p.register(ctx, name, clock, up)
	line, err := callLine(c.id, name, args)
	if err == nil && len(line) > p.host.opts.MaxMessage {
		err = fmt.Errorf("the arguments have %d bytes as JSON; the limit is %d", len(line), p.host.opts.MaxMessage)
	}
	if err != nil {
		p.unregister(c.id)
		return fmt.Errorf("python: %s: %w", name, err)
	}
	sent := p.queue(ctx, line)
	select {
	case m := <-c.answer:
		return m.into(name, result)
	case <-p.gone:
		return p.late(c, result)
	case <-ctx.Done():
		if !sent {
			p.unregister(c.id)
			return &Cancelled{Call: name, Cause: context.Cause(ctx)}
		}
		return p.giveUp(c, context.Cause(ctx))
	}
}

// late takes an answer that came before the process was lost. A call that had not begun may be made elsewhere.
func (p *process) late(c *call, result any) error {
	select {
	case m := <-c.answer:
		return m.into(c.name, result)
	default:
	}
	p.mu.Lock()
	waits := c.waits
	p.mu.Unlock()
	if waits {
		return errRetired
	}
	return p.lostIn(c.name)
}

// begins notes that a call waits for a thread or for others, or that it runs from here. Its clock is stopped meanwhile.
func (p *process) begins(id uint64, waits bool) {
	p.mu.Lock()
	c := p.calls[id]
	if c != nil {
		c.waits = waits
	}
	p.mu.Unlock()
	switch {
	case c == nil:
	case waits:
		c.clock.stop()
		p.over()
	default:
		c.clock.restart()
	}
}

// into unmarshals an answer.
func (m message) into(name string, result any) error {
	if m.Error != nil {
		return &Error{Call: name, Type: m.Error.Type, Message: m.Error.Message, Traceback: m.Error.Traceback}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("python: %s returned %.200s: %w", name, m.Result, err)
	}
	return nil
}

func (p *process) register(ctx context.Context, name string, clock clock, up Up) *call {
	c := &call{
		name: name, task: taskOf(ctx), ctx: ctx, clock: clock, up: up,
		answer: make(chan message, 1), where: make(chan string, 1), ended: make(chan struct{}),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	c.id = p.last
	p.calls[c.id] = c
	return c
}

// unregister returns the call, or nil if it has ended before.
func (p *process) unregister(id uint64) *call {
	p.mu.Lock()
	c := p.calls[id]
	delete(p.calls, id)
	p.mu.Unlock()
	if c != nil {
		close(c.ended)
	}
	p.over()
	return c
}

// usable reports whether the process takes new calls.
func (p *process) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.retired
}

// load counts the process's calls and sessions; 0 if it takes no more, as its slot then has to start another.
func (p *process) load() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retired {
		return 0
	}
	return len(p.calls) + p.sessions
}

// hold counts a session, if the process takes one.
func (p *process) hold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.retired {
		p.sessions++
	}
	return !p.retired
}

func (p *process) release() {
	p.mu.Lock()
	p.sessions--
	p.mu.Unlock()
	p.over()
}
