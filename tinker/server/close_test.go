package server

import (
	"net/http"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// When the server closes while requests are being handled, each is answered, and promised results exist after the next
// start.
func TestCloseWhileHandling(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m, sampler := r.model(session, 0), r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	var promised sync.Map // path of the request -> highest number that was promised
	var clients sync.WaitGroup
	begun := make(chan struct{}, 16)
	send := func(path string, seq int64, body any) bool {
		code, _, _, err := r.try("POST", wire.Prefix+path, body)
		if code == http.StatusOK {
			promised.Store(path, seq)
		}
		return err == nil && code == http.StatusOK
	}
	clients.Go(func() {
		for seq := int64(1); send("/forward_backward", seq, batch(m, seq, true)); seq++ {
			begun <- struct{}{}
		}
	})
	clients.Go(func() {
		for seq := int64(0); send("/asample", seq, asample(sampler, seq, nil)); seq++ {
			begun <- struct{}{}
		}
	})
	for range 20 {
		<-begun
	}
	go func() {
		for range begun { // the clients continue
		}
	}()
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	clients.Wait()
	close(begun)
	r.restart()
	seq, _ := promised.Load("/forward_backward")
	r.output(r.server.tickets.Ticket(ticket.Train, m, seq.(int64)))
	seq, _ = promised.Load("/asample")
	r.samples(r.server.tickets.Ticket(ticket.Sample, sampler, seq.(int64)))
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct {
		public, want string
		headers      []string
	}{
		{"", "http://", nil},
		{"", "https://api.example.org/", []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host",
			"api.example.org, inner"}},
		{"", "http://", []string{"X-Forwarded-Proto", "javascript"}},
		{"https://t.example.org/x/", "https://t.example.org/x/api/v1/archive/", []string{"X-Forwarded-Host", "other"}},
	} {
		r := newRig(t, Options{Access: Access{PublicURL: tt.public}})
		m := r.model(r.session(), 0)
		r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "a", "seq_id": 1}))
		_, _, raw := r.send("GET", wire.Prefix+"/training_runs/"+m+"/checkpoints/weights/a/archive", nil, tt.headers...)
		var at wire.ArchiveURL
		if err := wire.Decode(raw, &at); err != nil || len(at.URL) < len(tt.want) || at.URL[:len(tt.want)] != tt.want {
			t.Errorf("public %q, headers %q: %s, %v; want %s…", tt.public, tt.headers, at.URL, err, tt.want)
		}
		r.stop()
	}
}
