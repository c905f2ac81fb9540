package proxy

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"
)

// A server that is stopped ends well, also when an answer takes longer than it waits: that one is cut off.
func TestStopCutsLongAnswersOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits as long as the server does")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked, cut, stop := make(chan struct{}), make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(cut)
	})
	served := make(chan error, 1)
	go func() { served <- newDoor("m", nil, time.Now, nil).serve(context.Background(), slow, l, stop) }()
	go http.Get("http://" + l.Addr().String())
	<-asked
	close(stop)
	if err := <-served; err != nil {
		t.Error(err)
	}
	select {
	case <-cut:
	case <-time.After(time.Minute):
		t.Error("the answer goes on")
	}
}
