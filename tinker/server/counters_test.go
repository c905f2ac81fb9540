package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
	"pgregory.net/rapid"
)

// hostile is one client with its own session that sends invalid requests.
type hostile struct {
	r              *rig
	session, model string
	sampler        string
	train, draw    int64
	promised       []string
}

func newHostile(r *rig) *hostile {
	h := &hostile{r: r, session: r.session()}
	h.model, h.sampler = r.model(h.session, 0), r.sampler(h.session, 0, map[string]any{"base_model": "tiny"})
	return h
}

// send makes a request. Any answer is valid, but there must be one.
func (h *hostile) send(path string, body any, headers ...string) {
	code, _, raw := h.r.send("POST", wire.Prefix+path, body, headers...)
	if code >= 500 && code != http.StatusServiceUnavailable {
		h.r.t.Errorf("%s: %d %s", path, code, raw)
	}
	if i := bytes.Index(raw, []byte(`"request_id":"`)); i >= 0 && code == http.StatusOK {
		id, _, _ := strings.Cut(string(raw[i+len(`"request_id":"`):]), `"`)
		h.promised = append(h.promised, id)
	}
}

// abandon begins a request and disconnects.
func (h *hostile) abandon(path string, sent string) {
	ctx, cancel := context.WithCancel(context.Background())
	body, w := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, "POST", h.r.web.URL+wire.Prefix+path, body)
	if err != nil {
		h.r.t.Fatal(err)
	}
	req.Header.Set(wire.HeaderKey, h.r.key)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := h.r.web.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	io.WriteString(w, sent)
	cancel()
	w.CloseWithError(context.Canceled)
	<-done
}

func (h *hostile) actions(pack func([]byte) []byte) map[string]func(*rapid.T) {
	text := func(v any) string { return string(mustJSON(h.r.t, v)) }
	good := func() map[string]any {
		h.draw++
		return asample(h.sampler, h.draw, map[string]any{"num_samples": 3})
	}
	return map[string]func(*rapid.T){
		"sample": func(*rapid.T) { h.send("/asample", good()) },
		"sample again": func(*rapid.T) {
			h.send("/asample", asample(h.sampler, h.draw,
				map[string]any{"num_samples": 3}))
		},
		"long sample": func(*rapid.T) {
			m := good()
			m["sampling_params"] = map[string]any{"max_tokens": 150, "temperature": 1.0}
			h.send("/asample", m)
		},
		"sample and a brace": func(*rapid.T) { h.send("/asample", rawJSON(text(good())+"}")) },
		"sample and another": func(*rapid.T) { h.send("/asample", rawJSON(text(good())+text(good()))) },
		"half a sample":      func(*rapid.T) { s := text(good()); h.send("/asample", rawJSON(s[:len(s)/2])) },
		"too many samples":   func(*rapid.T) { m := good(); m["num_samples"] = 1 << 30; h.send("/asample", m) },
		"unknown sampler":    func(*rapid.T) { m := good(); m["sampling_session_id"] = "x"; h.send("/asample", m) },
		"a token of nobody": func(*rapid.T) {
			m := good()
			m["prompt"] = map[string]any{"chunks": []any{map[string]any{"tokens": []int{9999}}}}
			h.send("/asample", m)
		},
		"packed": func(*rapid.T) {
			h.send("/asample", pack(mustJSON(h.r.t, good())), "Content-Encoding", "zstd", "Content-Type", wire.JSON)
		},
		"no zstd": func(*rapid.T) { h.send("/asample", rawJSON(text(good())), "Content-Encoding", "zstd") },
		"half of a packed": func(*rapid.T) {
			b := pack(mustJSON(h.r.t, good()))
			h.send("/asample", b[:len(b)/2], "Content-Encoding", "zstd")
		},
		"an abandoned sample": func(*rapid.T) { h.abandon("/asample", text(good())[:20]) },
		"an abandoned batch":  func(*rapid.T) { h.abandon("/forward_backward", "\x0a") },
		"cancel":              func(t *rapid.T) { h.onPromise(t, "/cancel_future") },
		"fetch": func(t *rapid.T) {
			h.onPromise(t, "/retrieve_future")
		},
		"train":        func(*rapid.T) { h.train++; h.send("/forward_backward", batch(h.model, h.train, false)) },
		"train again":  func(*rapid.T) { h.send("/forward_backward", batch(h.model, max(1, h.train), false)) },
		"step":         func(*rapid.T) { h.train++; h.send("/optim_step", step(h.model, h.train)) },
		"step too far": func(*rapid.T) { h.send("/optim_step", step(h.model, 1<<31-1)) },
		"a gap":        func(*rapid.T) { h.train += 2; h.send("/optim_step", step(h.model, h.train)) },
		"wrong step": func(*rapid.T) {
			h.train++
			h.send("/optim_step", rawJSON(fmt.Sprintf(`{"model_id":%q,"seq_id":%d,"adam_params":7}}`, h.model,
				h.train)))
		},
		"wrong batch": func(*rapid.T) {
			h.train++
			h.send("/forward_backward", append(batch(h.model, h.train, false), 0x1a, 9))
		},
		"bomb": func(*rapid.T) { h.send("/asample", pack(make([]byte, 8<<20)), "Content-Encoding", "zstd") },
		"finish": func(*rapid.T) {
			h.send("/sessions/"+h.session+"/finish", map[string]any{"reason": map[string]any{"type": "done"}})
		},
	}
}

func (h *hostile) onPromise(t *rapid.T, path string) {
	if len(h.promised) > 0 {
		h.send(path, wire.RetrieveRequest{RequestID: rapid.SampledFrom(h.promised).Draw(t, "promise")})
	}
}

// After any requests, also invalid, abandoned and cancelled ones, every counter is 0 when nothing runs any more.
func TestCountersReturnToZero(t *testing.T) {
	r := newRig(t, Options{Hold: time.Millisecond, GapAfter: 5 * time.Millisecond})
	rapid.Check(t, func(t *rapid.T) {
		h := newHostile(r)
		t.Repeat(h.actions(func(raw []byte) []byte { return pack(r.t, raw) }))
		r.settled(r.t)
	})
}

// A close with work in progress resets every counter too.
func TestCountersAfterClose(t *testing.T) {
	r := newRig(t, Options{})
	h := newHostile(r)
	for seq := range int64(8) {
		h.send("/asample", asample(h.sampler, seq, map[string]any{"num_samples": 64,
			"sampling_params": map[string]any{"max_tokens": 400, "temperature": 1.0}}))
		h.send("/forward_backward", batch(h.model, seq+2, false)) // the first is missing
	}
	r.server.Release()
	r.web.Close()
	r.server.Close()
	if list := r.counters(); list != "" {
		t.Errorf("after Close these are not 0: %s", list)
	}
	r.journal.Close()
	r.web = nil
}

// Requests that cannot be logged are not counted.
func TestCountersOnFullDisk(t *testing.T) {
	r := newRig(t, Options{})
	full := &disktest.Full{FS: r.fs}
	r.fs = full
	r.restart()
	h := newHostile(r)
	full.Now.Store(true)
	for seq := range int64(4) {
		if code, _, raw := r.send("POST", wire.Prefix+"/asample", asample(h.sampler, seq, nil)); code < 500 {
			t.Errorf("on a full disk: %d %s", code, raw)
		}
	}
	r.settled(t)
	if n := len(r.server.state.Samples); n != 0 {
		t.Errorf("%d requests are known that were never promised", n)
	}
}

// A training request whose record did not fit on the disk is counted when it is sent again, once.
func TestRepeatedAfterFullDiskIsCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	full := &disktest.Full{FS: r.fs}
	r.fs = full
	r.restart()
	m := r.model(r.session(), 0)
	full.Now.Store(true)
	code, _, raw := r.send("POST", wire.Prefix+"/forward_backward", batch(m, 1, false))
	if code < 500 || !r.server.runs.Known(r.server.state.Models[m], 1) {
		t.Fatalf("on a full disk: %d %s", code, raw)
	}
	full.Now.Store(false)
	if code, _, raw := r.send("GET", "/healthz", nil); code != http.StatusOK {
		t.Fatalf("when there is room: %d %s", code, raw)
	}
	for range 3 {
		r.output(r.promise("/forward_backward", batch(m, 1, false)))
	}
	u := use(r, stats.Owner(TenantOf("tml-alice")), "forward_backward")
	if got, want := u.Tokens["forward_backward"], 7; int(got) != want {
		t.Errorf("%v tokens were counted, want %d", got, want)
	}
}
