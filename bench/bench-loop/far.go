package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/fake"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// far is a distant Tinker server: an answer arrives a fixed time after its call, or as soon as it exists. It records
// the time of each call.
type far struct {
	next    http.Handler
	url     string
	latency atomic.Int64 // nanoseconds
	close   func() error

	mu     sync.Mutex
	calls  map[string]int
	steps  []time.Time // when an optimizer step was asked for
	sample time.Time   // when the first sample was
	open   int         // requested samples whose result was not fetched
	most   int         // of them at a time
	hold   int         // results are returned once this many are open; 0: immediately
	full   chan struct{}
	draws  *rand.Rand // nil: answers take no time of their own
	takes  func(draws *rand.Rand) time.Duration
	slots  chan struct{} // answers that are made at a time
}

// newFar serves a model folder, whose path is the model's name, without arithmetic, with its files below dir.
func newFar(ctx context.Context, folder, dir string) (*far, error) {
	m, err := fake.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"),
		Models: map[string]engine.Model{folder: {Dir: folder}}})
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(ctx, filepath.Join(dir, "journal"), m, journal.Options{})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	s, err := server.Open(ctx, j, server.Options{Dir: filepath.Join(dir, "server"), Store: m,
		Queues: server.Queues{MaxSamples: 1 << 15, MaxSampleBytes: 1 << 30}})
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	f := &far{next: s, full: make(chan struct{})}
	f.reset(0, 0)
	web := httptest.NewServer(f)
	f.url = web.URL
	f.close = func() error {
		s.Release()
		web.CloseClientConnections()
		web.Close()
		return errors.Join(s.Close(), j.Close())
	}
	return f, nil
}

// reset starts over with another latency. With hold set, results of samples wait until that many are requested at the
// same time.
func (f *far) reset(latency time.Duration, hold int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.latency.Store(int64(latency))
	f.calls, f.steps, f.sample, f.open, f.most, f.hold, f.full = map[string]int{}, nil, time.Time{}, 0, 0, hold,
		make(chan struct{})
	f.draws = nil
}

// busy lets every answer take a time that takes draws, with so many made at a time.
func (f *far) busy(slots int, takes func(draws *rand.Rand) time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.draws, f.takes, f.slots = rand.New(rand.NewPCG(1, 2)), takes, make(chan struct{}, slots)
}

// work takes the time that an answer takes.
func (f *far) work(ctx context.Context) {
	f.mu.Lock()
	if f.draws == nil {
		f.mu.Unlock()
		return
	}
	d, slots := f.takes(f.draws), f.slots
	f.mu.Unlock()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		time.Sleep(d)
	case <-ctx.Done():
	}
}

// ServeHTTP implements http.Handler.
func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin, name := time.Now(), strings.TrimPrefix(r.URL.Path, "/api/v1/")
	got := r.Header.Get("X-Tinker-Request-Type") == "Sample"
	f.came(name, begin)
	if full := f.waits(got); full != nil {
		select {
		case <-full:
		case <-r.Context().Done():
			return
		}
	}
	answer := answer{header: http.Header{}, status: http.StatusOK}
	f.next.ServeHTTP(&answer, r)
	if name == "client/config" && f.hold > 0 { // more than clients send at a time by default
		text := strings.TrimSuffix(strings.TrimSpace(answer.body.String()), "}")
		answer.body.Reset()
		fmt.Fprintf(&answer.body, `%s,"sample_max_concurrent_requests":%d}`, text, f.hold)
		answer.header.Del("Content-Length")
	}
	if got {
		f.work(r.Context())
		f.mu.Lock()
		f.open--
		f.mu.Unlock()
	}
	time.Sleep(time.Until(begin.Add(time.Duration(f.latency.Load()))))
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	w.Write(answer.body.Bytes()) // a client that has gone needs none
}

func (f *far) came(name string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[name]++
	switch name {
	case "optim_step":
		f.steps = append(f.steps, at)
	case "asample":
		if f.sample.IsZero() {
			f.sample = at
		}
		f.open++
		f.most = max(f.most, f.open)
		if f.open == f.hold {
			close(f.full)
		}
	}
}

// waits is the channel that a sample's result waits for, nil for none.
func (f *far) waits(result bool) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !result || f.hold == 0 {
		return nil
	}
	return f.full
}

// intervals are the times between optimizer steps without the first skip ones, sorted.
func (f *far) intervals(skip int) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var d []time.Duration
	for i := 1 + skip; i < len(f.steps); i++ {
		d = append(d, f.steps[i].Sub(f.steps[i-1]))
	}
	slices.Sort(d)
	return d
}

// answer records a handler's response.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
