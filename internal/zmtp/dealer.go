// Package zmtp is the DEALER end of a ZeroMQ connection over TCP: protocol ZMTP 3.0 and 3.1 with the mechanism NULL
// (https://rfc.zeromq.org/spec/23 and /37). It is enough for a client of one server. A lost connection is an error
// of Recv, and is not opened again, so that no request is lost silently.
package zmtp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// The limits of a peer's messages and time.
const (
	mostFrames  = 64      // of a message
	mostCommand = 1 << 16 // bytes
	shakeTime   = 10 * time.Second
	writeTime   = time.Minute
)

// The flags of a frame.
const (
	more    = 1
	long    = 2
	command = 4
)

// greeting begins both directions: signature, version 3.0, mechanism NULL, a client.
var greeting = [64]byte{0: 0xff, 8: 1, 9: 0x7f, 10: 3, 12: 'N', 13: 'U', 14: 'L', 15: 'L'}

// Dealer is a connection. One goroutine may call Recv; Send and Close are safe for concurrent use.
type Dealer struct {
	conn  net.Conn
	in    *bufio.Reader
	limit uint64 // bytes of a message

	mu sync.Mutex // of writes
}

// Dial connects to a ROUTER at tcp://HOST:PORT. A message may have as many bytes as limit says, in all its frames.
func Dial(ctx context.Context, address string, limit int64) (*Dealer, error) {
	at, ok := strings.CutPrefix(address, "tcp://")
	if !ok {
		return nil, fmt.Errorf("zmtp: the address %q is not tcp://HOST:PORT", address)
	}
	conn, err := (&net.Dialer{Timeout: shakeTime}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("zmtp: %w", err)
	}
	d := &Dealer{conn: conn, in: bufio.NewReaderSize(conn, 1<<16), limit: uint64(limit)}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := d.shake(); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("zmtp: %s: %w", address, err)
	}
	return d, nil
}

// shake exchanges greetings and READY commands.
func (d *Dealer) shake() error {
	if err := d.conn.SetDeadline(time.Now().Add(shakeTime)); err != nil {
		return err
	}
	if _, err := d.conn.Write(greeting[:]); err != nil {
		return err
	}
	var theirs [64]byte
	if _, err := io.ReadFull(d.in, theirs[:]); err != nil {
		return fmt.Errorf("it sent no greeting of ZeroMQ: %w", err)
	}
	switch {
	case theirs[0] != 0xff || theirs[9]&1 != 1:
		return fmt.Errorf("it is no server of ZeroMQ: it began with %.10q", theirs[:])
	case theirs[10] < 3:
		return fmt.Errorf("it speaks ZMTP %d, and 3 is needed", theirs[10])
	case string(bytes.TrimRight(theirs[12:32], "\x00")) != "NULL":
		return fmt.Errorf("it wants the mechanism %q, and NULL is the one here", bytes.TrimRight(theirs[12:32], "\x00"))
	}
	ready := append([]byte{5}, "READY"...)
	for _, p := range [][2]string{{"Socket-Type", "DEALER"}, {"Identity", ""}} {
		ready = append(append(ready, byte(len(p[0]))), p[0]...)
		ready = append(binary.BigEndian.AppendUint32(ready, uint32(len(p[1]))), p[1]...)
	}
	if _, err := d.conn.Write(append([]byte{command, byte(len(ready))}, ready...)); err != nil {
		return err
	}
	flags, body, err := d.frame(mostCommand)
	if err != nil {
		return err
	}
	if err := checkReady(flags, body); err != nil {
		return err
	}
	return d.conn.SetDeadline(time.Time{})
}

// checkReady reads the first command of the other end.
func checkReady(flags byte, body []byte) error {
	if flags&command == 0 {
		return errors.New("its first frame is not the command READY")
	}
	if rest, is := bytes.CutPrefix(body, []byte("\x05ERROR")); is {
		return fmt.Errorf("it refused: %.200q", rest)
	}
	rest, is := bytes.CutPrefix(body, []byte("\x05READY"))
	if !is {
		return fmt.Errorf("its first command is %.20q and not READY", body)
	}
	for len(rest) > 0 {
		n := int(rest[0])
		if len(rest) < 1+n+4 {
			return errors.New("its command READY ends too early")
		}
		name, size := string(rest[1:1+n]), binary.BigEndian.Uint32(rest[1+n:])
		if rest = rest[1+n+4:]; uint64(size) > uint64(len(rest)) {
			return errors.New("its command READY ends too early")
		}
		if kind := string(rest[:size]); strings.EqualFold(name, "Socket-Type") && kind != "ROUTER" {
			return fmt.Errorf("its socket is a %.20s and not a ROUTER", kind)
		}
		rest = rest[size:]
	}
	return nil
}

// frame reads a frame of at most limit bytes.
func (d *Dealer) frame(limit uint64) (flags byte, body []byte, err error) {
	if flags, err = d.in.ReadByte(); err != nil {
		return 0, nil, err
	}
	if flags&^(more|long|command) != 0 {
		return 0, nil, fmt.Errorf("a frame has the flags %#x, which ZMTP does not have", flags)
	}
	size, width := uint64(0), 1
	if flags&long != 0 {
		width = 8
	}
	for range width {
		b, err := d.in.ReadByte()
		if err != nil {
			return 0, nil, cut(err)
		}
		size = size<<8 | uint64(b)
	}
	if flags&command != 0 {
		limit = mostCommand
	}
	if size > limit {
		return 0, nil, fmt.Errorf("a frame has %d bytes, and at most %d more are read", size, limit)
	}
	var buf bytes.Buffer // grows with the data, not with the announced size
	if _, err := io.CopyN(&buf, d.in, int64(size)); err != nil {
		return 0, nil, cut(err)
	}
	return flags, buf.Bytes(), nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Recv waits for a message and returns its frames.
func (d *Dealer) Recv() ([][]byte, error) {
	var list [][]byte
	left := d.limit
	for {
		flags, body, err := d.frame(left)
		if err != nil {
			return nil, fmt.Errorf("zmtp: %w", err)
		}
		if flags&command != 0 {
			if err := d.heed(body); err != nil {
				return nil, err
			}
			continue
		}
		left -= uint64(len(body))
		if list = append(list, body); flags&more == 0 {
			return list, nil
		}
		if len(list) == mostFrames {
			return nil, fmt.Errorf("zmtp: a message has more than %d frames", mostFrames)
		}
	}
}

// heed answers PING, which has two bytes of time and a context; other commands mean nothing to a DEALER.
func (d *Dealer) heed(body []byte) error {
	rest, is := bytes.CutPrefix(body, []byte("\x04PING"))
	if !is || len(rest) < 2 {
		return nil
	}
	pong := append([]byte("\x04PONG"), rest[2:min(len(rest), 2+16)]...)
	return d.write(append([]byte{command, byte(len(pong))}, pong...))
}

// Send sends a message of frames.
func (d *Dealer) Send(frames ...[]byte) error {
	var out []byte
	for i, f := range frames {
		flags := byte(0)
		if i < len(frames)-1 {
			flags = more
		}
		if len(f) > 255 {
			out = binary.BigEndian.AppendUint64(append(out, flags|long), uint64(len(f)))
		} else {
			out = append(out, flags, byte(len(f)))
		}
		out = append(out, f...)
	}
	return d.write(out)
}

func (d *Dealer) write(data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return fmt.Errorf("zmtp: %w", err)
	}
	if _, err := d.conn.Write(data); err != nil {
		return fmt.Errorf("zmtp: %w", err)
	}
	return nil
}

// Close ends the connection, and with it Recv.
func (d *Dealer) Close() error { return d.conn.Close() }
