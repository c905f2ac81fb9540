package zmtp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// libzmq is what a ROUTER of libzmq 4.3 sends first: the greeting of ZMTP 3.1, and READY.
var libzmq = "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01NULL" + strings.Repeat("\x00", 48) +
	"\x04\x29\x05READY\x0bSocket-Type\x00\x00\x00\x06ROUTER\x08Identity\x00\x00\x00\x00"

// serve accepts one connection, sends a text and ends it when the client has.
func serve(t *testing.T, text string, heard chan<- string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, text)
		if heard == nil {
			return
		}
		all, _ := io.ReadAll(conn)
		heard <- string(all)
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "tcp://" + l.Addr().String()
}

func TestDealer(t *testing.T) {
	big := strings.Repeat("x", 300)
	heard := make(chan string, 1)
	d, err := Dial(t.Context(), serve(t, libzmq+"\x01\x02id\x00\x05reply"+"\x04\x09\x04PING\x00\x0aab"+
		"\x01\x00\x02\x00\x00\x00\x00\x00\x00\x01\x2c"+big, heard), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"id|reply", "|" + big} {
		frames, err := d.Recv()
		if err != nil || string(bytes.Join(frames, []byte("|"))) != want {
			t.Errorf("%.80q, %v; want %.80q", frames, err, want)
		}
	}
	if err := d.Send([]byte("id"), []byte("run"), []byte(big)); err != nil {
		t.Fatal(err)
	}
	d.Close()
	got := <-heard
	ready := "\x04\x29\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER\x08Identity\x00\x00\x00\x00"
	if want := string(greeting[:]) + ready + "\x04\x07\x04PONGab" + "\x01\x02id\x01\x03run" +
		"\x02\x00\x00\x00\x00\x00\x00\x01\x2c" + big; got != want {
		t.Errorf("sent %q\nwant %q", got, want)
	}
	if _, err := d.Recv(); err == nil {
		t.Error("Recv after Close")
	}
}

// What is no server of ZeroMQ, or not the right one, is told by name.
func TestDialRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n": "no server of ZeroMQ",
		"short": "no greeting",
		strings.Replace(libzmq, "NULL", "CURV", 1):           "mechanism",
		strings.Replace(libzmq, "\x7f\x03", "\x7f\x01", 1):   "ZMTP 1",
		strings.Replace(libzmq, "ROUTER", "DEALER", 1):       "a DEALER and not a ROUTER",
		libzmq[:64] + "\x04\x0c\x05ERROR\x05nope!":           "it refused",
		libzmq[:64] + "\x00\x02hi":                           "not the command READY",
		libzmq[:64] + "\x04\x08\x05READY\xffx":               "ends too early",
		libzmq[:64] + "\x06\xff\xff\xff\xff\xff\xff\xff\xff": "at most",
		libzmq[:64] + "\x80\x00":                             "flags 0x80",
	} {
		heard := make(chan string, 1)
		if text == "short" {
			heard = nil
		}
		d, err := Dial(t.Context(), serve(t, text, heard), 1<<20)
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
	_, err := Dial(t.Context(), "ipc:///tmp/x", 1<<20)
	if err == nil || !strings.Contains(err.Error(), "tcp://HOST:PORT") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, "tcp://127.0.0.1:1", 1<<20); err == nil {
		t.Error("dialled without a context")
	}
}

// The limit is that of a whole message: frames behind it are not read.
func TestMessageIsBounded(t *testing.T) {
	frame := "\x01\xff" + strings.Repeat("x", 255)
	heard := make(chan string, 1)
	d, err := Dial(t.Context(), serve(t, libzmq+frame+"\x00\x02ok"+strings.Repeat(frame, 5), heard), 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if frames, err := d.Recv(); err != nil || len(frames) != 2 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
	if _, err := d.Recv(); err == nil || !strings.Contains(err.Error(), "has 255 bytes, and at most 235 more") {
		t.Error(err)
	}
}

func FuzzRecv(f *testing.F) {
	for _, s := range []string{"\x01\x02id\x00\x05reply", "\x04\x09\x04PING\x00\x0aab",
		"\x02\x00\x00\x00\x00\x00\x00\x01\x2c"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &Dealer{conn: discard{}, in: bufio.NewReader(bytes.NewReader(data)), limit: 1 << 20}
		for {
			frames, err := d.Recv()
			if err != nil {
				break
			}
			if len(frames) == 0 || len(frames) > mostFrames {
				t.Fatalf("%d frames", len(frames))
			}
		}
		checkReady(command, data)
	})
}

// discard is a connection that hears nothing.
type discard struct{ net.Conn }

func (discard) Write(p []byte) (int, error)      { return len(p), nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }
