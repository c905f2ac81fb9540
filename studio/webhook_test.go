package studio

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// A webhook is told once when a run stalls, loses exactness and ends, and nothing when the run is first seen.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var told []Notice
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil || r.Method != http.MethodPost {
			t.Errorf("the webhook was told %s, %v", r.Method, err)
		}
		mu.Lock()
		defer mu.Unlock()
		told = append(told, n)
		http.Error(w, "not today", http.StatusTeapot) // which must not matter
	}))
	defer receiver.Close()
	root := t.TempDir()
	dir := job(t, root, "a")
	if err := os.MkdirAll(filepath.Join(dir, "lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := disk.Lock{Path: filepath.Join(dir, "lock", "trainer")}.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := opened(t, Options{Dirs: []string{root}, Webhook: receiver.URL})
	e := s.runs.all()[0]
	look := func(want ...string) {
		t.Helper()
		e.mu.Lock()
		if !e.now.at.IsZero() {
			e.now.at = time.Now().Add(-time.Minute) // long enough ago for another look
		}
		e.mu.Unlock()
		var work errgroup.Group
		s.runs.look(t.Context(), &work)
		if err := work.Wait(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		var got []string
		for _, n := range told {
			got = append(got, n.Event)
			if n.Run != e.id || n.Path != dir || n.Reason == "" || n.Text == "" {
				t.Errorf("the webhook was told %+v", n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the webhook was told %v, want %v", got, want)
		}
	}
	touch := func(at time.Time) {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.Chtimes(name, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch(time.Now())
	look()
	touch(time.Now().Add(-time.Hour))
	look("stalled")
	look("stalled")
	log, err := os.OpenFile(filepath.Join(dir, "metrics.jsonl"), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.WriteString(`{"step":5,"train/kl_sample_train_v1":0.5}` + "\n"); err != nil {
		t.Fatal(err)
	}
	look("stalled", "inexact")
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	look("stalled", "inexact", "ended")
	look("stalled", "inexact", "ended")
}
