package process

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// The limits of a program's output.
const (
	burst    = 1 << 20 // bytes at once
	rate     = 1 << 15 // bytes a second
	tailSize = 4 << 10 // bytes kept for errors
)

// drain passes the lines of r to line until it ends, and drops lines beyond the limits.
func drain(r io.Reader, t *tail, line func(string)) {
	in := bufio.NewReaderSize(r, 1<<14)
	room, dropped, filled := burst, 0, time.Now()
	for {
		raw, err := in.ReadSlice('\n') // a line, or as much as fits
		t.Write(raw)
		now := time.Now()
		if add := int(now.Sub(filled).Seconds() * rate); add > 0 {
			room, filled = min(burst, room+add), now
		}
		switch text := strings.ToValidUTF8(strings.TrimRight(string(raw), "\r\n"), "�"); {
		case line == nil:
		case len(raw) > room:
			if dropped == 0 {
				line("output beyond the limit is dropped from here on")
			}
			dropped += len(raw)
		case text != "":
			room -= len(raw)
			line(text)
		}
		over := err != nil && err != bufio.ErrBufferFull
		if dropped > 0 && (room > burst/2 || over) {
			line(fmt.Sprintf("%d bytes of output were dropped", dropped))
			dropped = 0
		}
		if over {
			return
		}
	}
}

// tail keeps the last lines that were written.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer.
func (t *tail) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, line...)
	if len(t.data) > 8*tailSize {
		t.data = append(t.data[:0], t.data[len(t.data)-tailSize:]...)
	}
	return len(line), nil
}

// String returns whole lines where it can.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.data)
	if len(text) > tailSize {
		text = text[len(text)-tailSize:]
		if _, whole, ok := strings.Cut(text, "\n"); ok && whole != "" {
			text = whole
		}
	}
	return strings.TrimRight(strings.ToValidUTF8(text, "�"), "\r\n")
}
