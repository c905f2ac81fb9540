package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of in-memory connections, whose deadlines use the test's clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// serve runs f against a server of h.
func serve(t *testing.T, h http.HandlerFunc, f func(t *testing.T, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		p, ended := newPipes(), make(chan error, 1)
		web := Server(h, Options{})
		go func() { ended <- web.Serve(p) }()
		f(t, p)
		if err := web.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// readBody answers with the number of received bytes, or 408.
func readBody(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		http.Error(w, err.Error(), http.StatusRequestTimeout)
		return
	}
	fmt.Fprint(w, len(raw))
}

func answer(t *testing.T, c net.Conn) (int, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func TestBodiesMustMakeProgress(t *testing.T) {
	for _, tt := range []struct {
		name  string
		size  int // of the body, bytes
		part  int // sent at once
		pause time.Duration
		want  int
	}{
		{"at once", 4 << 10, 4 << 10, 0, 200},
		{"slow and honest, for an hour", 200 << 10, 1 << 10, 20 * time.Second, 200},
		{"small and slow", 100, 10, 2 * time.Second, 200},
		{"a byte now and then", 4 << 10, 1, 5 * time.Second, 408},
		{"one byte short", 4 << 10, 4<<10 - 1, time.Hour, 408},
		{"nothing at all", 4 << 10, 0, time.Hour, 408},
	} {
		t.Run(tt.name, func(t *testing.T) {
			serve(t, readBody, func(t *testing.T, p *pipes) {
				c := p.dial()
				defer c.Close()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", tt.size)
					for left := tt.size; left > 0; time.Sleep(tt.pause) {
						n := min(left, max(tt.part, 0))
						if _, err := io.WriteString(c, strings.Repeat("x", n)); err != nil || n == 0 {
							return
						}
						left -= n
					}
				}()
				code, text := answer(t, c)
				if code != tt.want || code == 408 && !strings.Contains(text,
					"fewer than 1024 bytes of the body came within 30s") {
					t.Errorf("%d %s, want %d", code, text, tt.want)
				}
				c.Close()
				<-sent
			})
		})
	}
}

// A handler that answers without reading does not keep the connection, and one that computes for long is not
// interrupted.
func TestHalfOpenRequestsEnd(t *testing.T) {
	serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			io.Copy(io.Discard, r.Body)
			time.Sleep(time.Hour)
		}
		fmt.Fprint(w, r.Context().Err())
	}, func(t *testing.T, p *pipes) {
		c := p.dial()
		defer c.Close()
		fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nhalf")
		if code, _ := answer(t, c); code != 200 {
			t.Errorf("an answer without reading: %d", code)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the connection of half a request: %v, want EOF", err)
		}
		long := p.dial()
		defer long.Close()
		fmt.Fprint(long, "POST /long HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
		if code, text := answer(t, long); code != 200 || text != "<nil>" {
			t.Errorf("an hour of computing: %d %s", code, text)
		}
	})
}

// A client that does not read its answer is disconnected; one that reads it slowly gets all of it.
func TestAnswersMustMakeProgress(t *testing.T) {
	const size = 1 << 20
	for _, slow := range []bool{true, false} {
		var wrote chan error // of the test's bubble
		h := func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, size))
			wrote <- err
		}
		serve(t, h, func(t *testing.T, p *pipes) {
			wrote = make(chan error, 1)
			c := p.dial()
			defer c.Close()
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if !slow {
				if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("to a client that takes nothing: %v", err)
				}
				return
			}
			got := 0
			for buf := make([]byte, 32<<10); got < size; time.Sleep(time.Second) {
				n, err := c.Read(buf)
				if got += n; err != nil {
					t.Fatalf("after %d bytes: %v", got, err)
				}
			}
			go io.Copy(io.Discard, c) // the header was counted too
			if err := <-wrote; err != nil {
				t.Errorf("to a slow client: %v", err)
			}
		})
	}
}

func TestIdleConnectionsAndHeadersEnd(t *testing.T) {
	for _, tt := range []struct {
		send string
		want time.Duration
	}{{"", 10 * time.Second}, {"GET / HTTP/1.1\r\nHo", 10 * time.Second}, {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		5 * time.Minute}} {
		serve(t, readBody, func(t *testing.T, p *pipes) {
			c := p.dial()
			defer c.Close()
			start := time.Now()
			fmt.Fprint(c, tt.send)
			io.Copy(io.Discard, c)
			if took := time.Since(start); took != tt.want {
				t.Errorf("after %q the connection stood for %v, want %v", tt.send, took, tt.want)
			}
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	serve(t, readBody, func(t *testing.T, p *pipes) {
		c := p.dial()
		defer c.Close()
		go fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", 80<<10))
		if code, _ := answer(t, c); code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("80 KiB of headers: %d", code)
		}
	})
}

type stranger struct {
	net.Conn
	from   net.Addr
	closed *int
}

func (s stranger) RemoteAddr() net.Addr { return s.from }
func (s stranger) Close() error         { *s.closed++; return nil }

var errNoMore = errors.New("no more")

func TestConnectionsAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit Connections
		from  []string
		want  int
	}{
		{"no limit", Connections{}, []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"}, 3},
		{"one address", Connections{PerAddress: 2}, []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3", "10.0.0.2:1"},
			3},
		{"loopback is one", Connections{PerAddress: 2}, []string{"127.0.0.1:1", "127.7.0.1:1", "[::1]:1",
			"[::ffff:127.0.0.2]:1"}, 2},
		{"a /64 is one", Connections{PerAddress: 1}, []string{"[2001:db8::1]:1", "[2001:db8::2]:1",
			"[2001:db8:0:1::1]:1"}, 2},
		{"all together", Connections{PerAddress: 2, Total: 3}, []string{"10.0.0.1:1", "10.0.0.2:2", "10.0.0.3:3",
			"10.0.0.4:1"}, 3},
	} {
		closed := 0
		inner := &queue{closed: &closed, from: tt.from}
		l := Listen(inner, tt.limit)
		var open []net.Conn
		for {
			c, err := l.Accept()
			if errors.Is(err, errNoMore) {
				break
			}
			open = append(open, c)
		}
		if len(open) != tt.want || closed != len(tt.from)-tt.want {
			t.Errorf("%s: %d open and %d closed of %d, want %d open", tt.name, len(open), closed, len(tt.from), tt.want)
		}
		for _, c := range open {
			c.Close()
			c.Close() // twice is once
		}
		if l := l.(*listener); l.total != 0 || len(l.open) != 0 {
			t.Errorf("%s: after all are closed %d are counted, of %v", tt.name, l.total, l.open)
		}
	}
}

// queue is a listener of connections from given addresses.
type queue struct {
	from   []string
	closed *int
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.from) == 0 {
		return nil, errNoMore
	}
	a, err := net.ResolveTCPAddr("tcp", q.from[0])
	q.from = q.from[1:]
	return stranger{from: a, closed: q.closed}, err
}

func (q *queue) Close() error   { return nil }
func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }
