package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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
		go func() { served <- newHandler("m", nil, time.Now, nil).serve(t.Context(), slow, l, stop) }()
		if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
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

// A page of another origin, and one whose name was pointed at this machine, can neither sample nor reward nor commit.
func TestPagesOfOthersAreRefused(t *testing.T) {
	f := newFixture(t, history(t))
	offers := NewOffers(OfferOptions{Name: "m", Now: time.Now})
	for name, serve := range map[string]func(context.Context, net.Listener, <-chan struct{}) error{
		"serve mode": f.proxy.Serve, "rollouts": offers.Serve,
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stop, served := make(chan struct{}), make(chan error, 1)
		go func() { served <- serve(t.Context(), l, stop) }()
		for _, path := range []string{"/v1/chat/completions", "/rollouts/a/v1/chat/completions", "/rollouts/a/feedback",
			"/rollouts/next", "/sessions", "/feedback", "/commit"} {
			for _, headers := range []map[string]string{
				{"Host": "evil.example", "Origin": "http://evil.example"}, {"Host": "evil.example"},
				{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
			} {
				status, body := byBrowser(t, "http://"+l.Addr().String()+path, headers)
				if status != http.StatusForbidden {
					t.Errorf("%s: POST %s with %v: %d %s", name, path, headers, status, body)
				}
			}
		}
		close(stop)
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// byBrowser posts what a browser posts without asking first.
func byBrowser(t *testing.T, url string, headers map[string]string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(`{"reward": 1}`))
	r.RequestURI = ""
	for key, v := range headers {
		r.Header.Set(key, v)
	}
	if h := headers["Host"]; h != "" {
		r.Host = h
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
