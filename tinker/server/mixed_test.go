package server

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tinker/tinkertest"
)

// mixedCrashes is how often the power fails under mixed load.
const mixedCrashes = 3

// front is an address that stays while the server behind it crashes and restarts. After a crash it sends no answer of
// the crashed process.
type front struct {
	web         *httptest.Server
	incarnation atomic.Pointer[incarnation]
}

// incarnation is one process of the server.
type incarnation struct {
	server *Server
	dead   atomic.Bool
}

func newFront(t *testing.T) *front {
	f := &front{}
	f.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := f.incarnation.Load()
		if l == nil {
			panic(http.ErrAbortHandler)
		}
		answer := httptest.NewRecorder()
		l.server.ServeHTTP(answer, r)
		if l.dead.Load() || r.Context().Err() != nil {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(f.web.Close)
	return f
}

// begin starts a process that crashes at an operation on the disk, or never if at is 0. crashed is closed then.
func (f *front) begin(r *rig, at int) (count *disktest.Crash, crashed chan struct{}, err error) {
	l, crashed := &incarnation{}, make(chan struct{})
	count = &disktest.Crash{FS: disk.OS(), At: at, PowerLoss: true,
		OnCrash: func() { l.dead.Store(true); close(crashed) }}
	r.fs = count
	if err := r.start(); err != nil {
		return count, crashed, err
	}
	l.server = r.server
	f.incarnation.Store(l)
	return count, crashed, nil
}

// end removes the crashed process.
func (f *front) end(r *rig) {
	f.incarnation.Store(nil)
	r.stop()
}

// TestMixedLoadOverCrashes simulates power losses at random moments of mixed load: unsynced data is lost. Clients
// repeat their requests, and every answer has the bits of an unbroken run: no accepted request is lost and none is
// executed twice.
func TestMixedLoadOverCrashes(t *testing.T) {
	t.Parallel()
	const steps = 8
	newCrowd := func() (*front, *rig) {
		f := newFront(t)
		return f, &rig{t: t, modelDir: "../../examples/tiny/model", dir: t.TempDir(), key: "tml-alice"}
	}
	run := func(f *front, name string) ([]string, error) {
		c, err := client.Open(t.Context(), client.Options{BaseURL: f.web.URL, APIKey: "tml-alice"})
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return tinkertest.Script(t.Context(), c, "tiny", name, steps)
	}
	f, r := newCrowd()
	count, _, err := f.begin(r, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := run(f, "script")
	if err != nil {
		t.Fatal(err)
	}
	whole := count.Count()
	f.end(r)

	seed := rand.Uint64()
	t.Logf("the seed of the crashes is %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	f, r = newCrowd()
	defer f.end(r)
	said, scripts := make(chan error), 0
	begin := func() {
		scripts++
		go func() {
			got, err := run(f, "script")
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("script %d: its answers differ from those of an unbroken run", scripts)
			}
			said <- err
		}()
	}
	var crashed chan struct{}
	crashes := 0
	restart := func() { // until a start does not crash itself
		for {
			at := 0
			if crashes < mixedCrashes {
				at = 1 + rng.IntN(whole)
			}
			if _, crashed, err = f.begin(r, at); err == nil {
				return
			}
			if at == 0 {
				t.Fatalf("the start after %d crashes: %v", crashes, err)
			}
			crashes++
		}
	}
	restart()
	begin()
	for crashes < mixedCrashes {
		select {
		case err := <-said:
			if err != nil {
				t.Fatalf("after %d crashes: %v", crashes, err)
			}
			begin()
		case <-crashed:
			crashes++
			f.end(r)
			restart()
		}
	}
	if err := <-said; err != nil {
		t.Errorf("after the last crash: %v", err)
	}
	t.Logf("%d crashes, %d scripts", mixedCrashes, scripts)
}
