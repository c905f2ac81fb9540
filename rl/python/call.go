package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// whereTimeout is how long a cancelled call may take to say where it is.
const whereTimeout = time.Second

// call is a call in progress.
type call struct {
	id     uint64
	name   string
	task   string
	ctx    context.Context
	up     Up
	answer chan message // one, with a result or an error
	where  chan string  // one
	given  bool         // up: nobody waits for it; under process.mu
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := p.register(ctx, name, up)
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

// late takes an answer that came before the process was lost.
func (p *process) late(c *call, result any) error {
	select {
	case m := <-c.answer:
		return m.into(c.name, result)
	default:
		return p.lostIn(c.name)
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

func (p *process) register(ctx context.Context, name string, up Up) *call {
	c := &call{
		name: name, task: taskOf(ctx), ctx: ctx, up: up,
		answer: make(chan message, 1), where: make(chan string, 1),
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
	p.over()
	return c
}

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
	case <-c.answer:
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

// over kills a retired process when it has nothing left but calls that were given up.
func (p *process) over() {
	if p.finished() {
		p.kill(errors.New("it was replaced, because a cancelled call did not end"))
	}
}

func (p *process) finished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.retired || p.sessions > 0 {
		return false
	}
	for _, c := range p.calls {
		if !c.given {
			return false
		}
	}
	return true
}

// usable reports whether the process takes new calls.
func (p *process) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.retired
}

// load is what the process has to do; none if it takes no more, as its slot then has to start another.
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

// handle does what a message says. It runs on the reading goroutine, and must not wait.
func (p *process) handle(m message) error {
	switch {
	case m.ID != 0:
		c := p.unregister(m.ID)
		if c == nil {
			return fmt.Errorf("an answer to call %d, which is not in progress", m.ID)
		}
		c.answer <- m
	case m.Up != 0:
		p.host.running.Go(func() { p.answerUp(m) })
	case m.Log != nil:
		p.log(*m.Log)
	case m.Where != nil:
		if c := p.find(m.Where.Of); c != nil {
			select {
			case c.where <- m.Where.Stack:
			default:
			}
		}
	case m.Hello != nil:
		p.hello <- *m.Hello
	}
	return nil
}

func (p *process) find(id uint64) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[id]
}

// answerUp answers a call back.
func (p *process) answerUp(m message) {
	c := p.find(m.Of)
	var result any
	var err error
	switch {
	case c == nil:
		err = fmt.Errorf("call %d has ended", m.Of)
	case c.up == nil:
		err = fmt.Errorf("%s may not call back %s", c.name, m.Call)
	default:
		result, err = c.up(c.ctx, m.Call, m.Args)
	}
	p.queue(context.Background(), replyLine(m.Up, result, err))
}

func (p *process) log(l wireLog) {
	e := Entry{Process: p.index, Level: l.Level, Text: l.Text}
	if c := p.find(l.Of); c != nil {
		e.Task, e.Call = c.task, c.name
	}
	p.host.opts.Log(e)
}
