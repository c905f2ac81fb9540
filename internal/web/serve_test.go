package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// At the end an answer under way is finished, or cut off when it takes too long, and new requests are refused.
func TestServeEnds(t *testing.T) {
	for name, end := range map[string]time.Duration{"finished": time.Minute, "cut off": 0} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			asked, ended := make(chan struct{}), make(chan struct{})
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(asked)
				select {
				case <-ended:
				case <-r.Context().Done():
				}
				io.WriteString(w, "done")
			})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			served := make(chan error, 1)
			e := Edge{Guard: &Guard{}, End: end, Ending: func() {
				if end > 0 {
					close(ended)
				}
			}}
			go func() { served <- e.Serve(ctx, nil, l, h) }()
			got := make(chan string, 1)
			go func() {
				r, err := http.Get("http://" + l.Addr().String())
				if err != nil {
					got <- ""
					return
				}
				defer r.Body.Close()
				raw, _ := io.ReadAll(r.Body)
				got <- string(raw)
			}()
			<-asked
			stop()
			want := map[bool]string{true: "done"}[end > 0]
			if answer := <-got; answer != want {
				t.Errorf("the answer under way is %q, want %q", answer, want)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
				t.Error("the address still answers")
			}
		})
	}
}
