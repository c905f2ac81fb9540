package python

import (
	"bufio"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The limits of what is written to stderr past the streams of Python: by C code, children and dying processes.
const (
	stderrBurst = 1 << 20 // bytes at once
	stderrRate  = 1 << 15 // bytes a second
	tailSize    = 4 << 10 // bytes kept for Lost
)

// drain logs stderr until it ends, and drops what is too much: reading never stops, so the process never blocks.
func (p *process) drain() {
	r := bufio.NewReaderSize(p.err, 1<<14)
	room, dropped, filled := stderrBurst, 0, time.Now()
	for {
		line, err := r.ReadSlice('\n') // a line, or as much as fits
		p.tail.write(line)
		now := time.Now()
		if add := int(now.Sub(filled).Seconds() * stderrRate); add > 0 {
			room, filled = min(stderrBurst, room+add), now
		}
		switch text := strings.TrimRight(string(line), "\r\n"); {
		case len(line) > room:
			if dropped == 0 {
				p.log(wireLog{Level: "warning", Text: "output on stderr beyond the limit is dropped from here on"})
			}
			dropped += len(line)
		case text != "":
			room -= len(line)
			p.log(wireLog{Level: "warning", Text: text})
		}
		if dropped > 0 && (room > stderrBurst/2 || err != nil && err != bufio.ErrBufferFull) {
			p.log(wireLog{Level: "warning", Text: fmt.Sprintf("%d bytes on stderr were dropped", dropped)})
			dropped = 0
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// tail keeps the last lines that were written.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) write(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, line...)
	if len(t.data) > 8*tailSize {
		t.data = append(t.data[:0], t.data[len(t.data)-tailSize:]...)
	}
}

// String returns whole lines where it can.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.data) <= tailSize {
		return string(t.data)
	}
	text := string(t.data[len(t.data)-tailSize:])
	if _, whole, ok := strings.Cut(text, "\n"); ok && whole != "" {
		text = whole
	}
	return strings.ToValidUTF8(text, "�")
}
