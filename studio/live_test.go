package studio

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

func TestLive(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	s, server := opened(t, Options{Dirs: []string{root}})
	look(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	id := first(t, server)
	if got := get[rows](t, server, "/api/runs/"+id+"/samples?step=3", 200); len(got.Samples) != 0 {
		t.Fatal("there is a third step already")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	events.Scan() // the greeting
	data, err := os.ReadFile(filepath.Join(dir, "rollouts", "step_000002.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rollouts", "step_000003.jsonl"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	touch(t, dir)
	for events.Scan() {
		var e event
		text, ok := strings.CutPrefix(events.Text(), "data: ")
		if ok && json.Unmarshal([]byte(text), &e) == nil && e.Type == "run" && e.Run == id {
			if got := get[rows](t, server, "/api/runs/"+id+"/samples?step=3", 200); len(got.Samples) == 16 {
				return
			}
		}
	}
	t.Error("the stream ended and the step was not told:", events.Err())
}

// look reads the runs that have changed.
func look(t *testing.T, s *Studio) {
	t.Helper()
	var work errgroup.Group
	s.runs.look(t.Context(), &work)
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
}

// touch gives the folder of samples a new time, however coarse the times of the file system are.
func touch(t *testing.T, dir string) {
	t.Helper()
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "rollouts"), later, later); err != nil {
		t.Fatal(err)
	}
}

// A run that changes while it is being read is read again.
func TestChangesWhileARunIsRead(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	s, server := opened(t, Options{Dirs: []string{root}})
	look(t, s)
	e := s.runs.get(first(t, server))
	before := e.seen().at
	var work errgroup.Group
	e.busy.Lock()
	touch(t, dir)
	s.runs.look(t.Context(), &work)
	e.busy.Unlock()
	look(t, s)
	if !e.seen().at.After(before) {
		t.Errorf("read at %v, and not again", before)
	}
}

func TestTags(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	_, server := opened(t, Options{Dirs: []string{root}})
	id := first(t, server)
	put := func(body string) int {
		req, err := http.NewRequest(http.MethodPut, server.URL+"/api/runs/"+id+"/tags", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if put(`{"tags":["good"," good ",""]}`) != 200 || put(`nothing`) != 400 ||
		put(`{"tags":["`+strings.Repeat("x", 101)+`"]}`) != 400 {
		t.Error("tags are not taken or refused as they should be")
	}
	if _, err := os.Stat(filepath.Join(dir, ".studio", "tags.json")); err != nil {
		t.Error(err)
	}
	_, again := opened(t, Options{Dirs: []string{root}})
	if list := get[struct{ Runs []Run }](t, again, "/api/runs", 200); len(list.Runs[0].Tags) != 1 {
		t.Errorf("the tags are %v", list.Runs[0].Tags)
	}
}
