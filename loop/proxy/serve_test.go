package proxy

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// once is a listener with one connection.
type once struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (o once) Accept() (net.Conn, error) {
	select {
	case c := <-o.conn:
		return c, nil
	case <-o.closed:
		return nil, net.ErrClosed
	}
}

func (o once) Close() error { close(o.closed); return nil }
func (once) Addr() net.Addr { return &net.TCPAddr{} }

// A server that is stopped ends well, also when an answer takes longer than it waits: that one is cut off.
func TestStopCutsLongAnswersOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := once{make(chan net.Conn, 1), make(chan struct{})}
		client, server := net.Pipe()
		defer client.Close()
		l.conn <- server
		asked, cut, stop := make(chan struct{}), make(chan time.Time, 1), make(chan struct{})
		slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(asked)
			<-r.Context().Done()
			cut <- time.Now()
		})
		served := make(chan error, 1)
		go func() { served <- newDoor("m", nil, time.Now, nil).serve(t.Context(), slow, l, stop) }()
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-asked
		stopped := time.Now()
		close(stop)
		if err := <-served; err != nil {
			t.Error(err)
		}
		if d := (<-cut).Sub(stopped); d != endTimeout {
			t.Errorf("the answer is cut off after %v, want %v", d, endTimeout)
		}
	})
}
