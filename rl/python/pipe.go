package python

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// write sends the queue, everything that waits at once.
func (p *process) write() {
	var batch []byte
	for {
		select {
		case line := <-p.send:
			batch = append(batch[:0], line...)
		case <-p.gone:
			return
		}
		for more := true; more && len(batch) < 1<<16; {
			select {
			case line := <-p.send:
				batch = append(batch, line...)
			default:
				more = false
			}
		}
		if _, err := p.program.In.Write(batch); err != nil {
			<-p.gone // a broken pipe: wait says why
			return
		}
		if cap(batch) > 1<<20 {
			batch = nil
		}
	}
}

// queue hands a line to write. It reports whether it could before ctx ended and the process died.
func (p *process) queue(ctx context.Context, line []byte) bool {
	select {
	case p.send <- line:
		return true
	case <-p.gone:
	case <-ctx.Done():
	}
	return false
}

// read handles messages until the output ends or is none. Output before hello is not ours (sitecustomize and .pth
// files may print), and is logged.
func (p *process) read() {
	r := bufio.NewReaderSize(p.program.Out, 1<<16)
	greeted := false
	for {
		line, err := readLine(r, p.host.opts.MaxMessage)
		if err == nil {
			err = bound.Of(int64(p.host.opts.MaxMessage)).Check(line)
		}
		var m message
		if err == nil {
			m, err = parse(line)
			if err != nil && !greeted {
				if len(line) > 0 {
					p.log(wireLog{Level: "info", Text: string(line)})
				}
				continue
			}
		}
		if err == nil && m.Hello != nil == greeted {
			err = fmt.Errorf("hello is the first message, and only that: %.200q", line)
		}
		if err == nil {
			err = p.handle(m)
			greeted = true
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrClosed):
			select {
			case <-p.program.Ended(): // and its status says why
			case <-time.After(time.Second):
				p.kill(errors.New("it closed its output"))
			}
		default:
			p.kill(fmt.Errorf("it broke the protocol: %w", err))
		}
		io.Copy(io.Discard, p.program.Out) // so that nothing of it blocks on the pipe while it dies
		return
	}
}
