package python

import (
	"context"
	"fmt"
)

// handle executes a message. It runs on the reading goroutine, and must not wait.
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
	case m.Waits != 0:
		p.begins(m.Waits, true)
	case m.Begins != 0:
		p.begins(m.Begins, false)
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
