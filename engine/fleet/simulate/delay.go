package simulate

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// Dialer opens TCP connections on which every byte travels for Delay, in each direction.
type Dialer struct{ Delay time.Duration }

// Dial implements fleet.Dialer.
func (d Dialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, 10*time.Second)
	if err != nil || d.Delay <= 0 {
		return c, err
	}
	l := &line{Conn: c, delay: d.Delay, in: make(chan piece, onTheWay), out: make(chan piece, onTheWay),
		closed: make(chan struct{})}
	go l.receive()
	go l.send()
	return l, nil
}

const (
	onTheWay = 256 // pieces in one direction
	pieceMax = 8 << 10
)

// piece is bytes and when they arrive.
type piece struct {
	data []byte
	at   time.Time
	err  error
}

// line is a connection with a delay.
type line struct {
	net.Conn
	delay   time.Duration
	in, out chan piece
	rest    []byte
	once    sync.Once
	closed  chan struct{}
}

func (l *line) receive() {
	buf := make([]byte, pieceMax)
	for {
		n, err := l.Conn.Read(buf)
		select {
		case l.in <- piece{bytes.Clone(buf[:n]), time.Now().Add(l.delay), err}:
		case <-l.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *line) send() {
	for {
		select {
		case p := <-l.out:
			time.Sleep(time.Until(p.at))
			if _, err := l.Conn.Write(p.data); err != nil {
				l.Close()
				return
			}
		case <-l.closed:
			return
		}
	}
}

// Read implements net.Conn.
func (l *line) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		select {
		case p := <-l.in:
			time.Sleep(time.Until(p.at))
			if len(p.data) == 0 && p.err != nil {
				return 0, p.err
			}
			l.rest = p.data
		case <-l.closed:
			return 0, io.EOF
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Write implements net.Conn.
func (l *line) Write(b []byte) (int, error) {
	select {
	case l.out <- piece{data: append([]byte(nil), b...), at: time.Now().Add(l.delay)}:
		return len(b), nil
	case <-l.closed:
		return 0, net.ErrClosed
	}
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Conn.Close()
}
