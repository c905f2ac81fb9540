package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// grown is how many bytes f allocates, garbage included.
func grown(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func pack(t testing.TB, raw []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(raw, nil)
}

// A body of a few kilobytes takes a few megabytes of memory at most.
func TestBombs(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m, sampler := r.model(session, 0), r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	head := wire.EncodeForwardBackward(wire.ForwardBackward{ModelID: m, SeqID: 1, LossFn: "cross_entropy"})
	datums := pack(t, append(head, bytes.Repeat([]byte{0x1a, 0}, 20<<20)...))
	chunks := pack(t, []byte(`{"sampling_session_id":"`+sampler+`","prompt":{"chunks":[`+strings.Repeat("{},",
		10<<20)+"{}]}}"))
	zeros := pack(t, make([]byte, 64<<20))
	for _, tt := range []struct {
		name, path string
		body       []byte
		kind       string
		want       int
		most       uint64 // bytes allocated
	}{
		{"empty datums", "/forward_backward", datums, wire.Proto, http.StatusOK, 64 << 20}, // its result is the error
		{"empty chunks", "/asample", chunks, wire.JSON, http.StatusRequestEntityTooLarge, 64 << 20},
		{"telemetry", "/telemetry", zeros, wire.JSON, http.StatusOK, 4 << 20},
		{"heartbeat", "/session_heartbeat", zeros, wire.JSON, http.StatusRequestEntityTooLarge, 32 << 20},
	} {
		if len(tt.body) > 32<<10 {
			t.Fatalf("%s: %d bytes are no small body", tt.name, len(tt.body))
		}
		took := grown(func() {
			code, _, raw := r.send("POST", wire.Prefix+tt.path, tt.body, "Content-Encoding", "zstd", "Content-Type",
				tt.kind)
			if code != tt.want {
				t.Errorf("%s: %d %s, want %d", tt.name, code, raw, tt.want)
			}
		})
		if took > tt.most {
			t.Errorf("%s: %d bytes allocated, %d bytes sent", tt.name, took, len(tt.body))
		}
	}
	if message, _ := r.failure(r.server.tickets.Ticket(ticket.Train, m, 1)); !strings.Contains(message, "MaxUnpack") {
		t.Errorf("empty datums: %s", message)
	}
	r.settled(t)
}

// A valid body that compresses well is accepted, even if it is many windows long.
func TestLargePackedBodies(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	raw := batch(m, 1, true)
	for range 20 { // an unknown field that is skipped, of 1 MiB each, poorly packed
		raw = append(append(raw, 0x7a, 0x80, 0x80, 0x40), noise(1<<20)...)
	}
	id := r.promiseWith("/forward_backward", pack(t, raw), "Content-Encoding", "zstd")
	r.output(id)
}

func noise(n int) []byte {
	b, x := make([]byte, n), uint64(1)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x>>59) & 15
	}
	return b
}

// Unfinished bodies hold only the bytes that have arrived, and without a key none.
func TestHalfBodies(t *testing.T) {
	r := newRig(t, Options{Bodies: Bodies{MaxBodies: 8 << 20}})
	half := func(key string) (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", r.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c,
			"POST %s/forward_backward HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: 250000000\r\n\r\n%s",
			wire.Prefix, key, strings.Repeat("x", 100<<10))
		return c, bufio.NewReader(c)
	}
	var open []net.Conn
	for range 10 {
		c, _ := half("tml-mallory")
		open = append(open, c)
	}
	eventually(t, func() string {
		return unless(r.server.edge.Bodies.Budget().InUse() >= 10*100<<10, "bytes are missing")
	})
	if used := r.server.edge.Bodies.Budget().InUse(); used > 10*256<<10 {
		t.Errorf("ten bodies of which 100 KiB came hold %d bytes", used)
	}
	_, answer := half("")
	resp, err := http.ReadResponse(answer, nil)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !resp.Close {
		t.Errorf("without a key: %v, %v", resp, err)
	}
	m := r.model(r.session(), 0) // another tenant continues
	r.output(r.promise("/forward_backward", batch(m, 1, false)))
	for _, c := range open {
		c.Close()
	}
	r.settled(t)
}

// stalled is a body whose end does not come in time.
type stalled struct{ io.Reader }

func (s stalled) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// A stalled body is answered with the reason and uses no number.
func TestStalledBody(t *testing.T) {
	r := newRig(t, Options{})
	m := r.model(r.session(), 0)
	req := httptest.NewRequest("POST", wire.Prefix+"/forward_backward", stalled{bytes.NewReader(batch(m, 1, false))})
	req.ContentLength = 1000
	req.Header.Set(wire.HeaderKey, r.key)
	req.Header.Set("Content-Type", wire.Proto)
	w := httptest.NewRecorder()
	web.Progress(r.server, time.Minute).ServeHTTP(w, req)
	if w.Code != http.StatusRequestTimeout ||
		!strings.Contains(w.Body.String(), "fewer than 1024 bytes of the body came within 1m0s") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r.settled(t)
	r.output(r.promise("/forward_backward", batch(m, 1, false)))
}
