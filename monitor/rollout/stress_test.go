package rollout

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// linesFor is n records of a step.
func linesFor(step, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"v":2,"id":"%d/%d/0/0/a","task":"%d","prompt":"p","response":"answer %d","reward":1}`+"\n",
			step, i, i, i)
	}
	return b.String()
}

// Rows that a table had are in all later ones, while files grow, are replaced by longer ones, and appear.
func TestRowsStayWhileFilesGrow(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	write("step_000001.jsonl", linesFor(1, 20))
	write("step_000002.jsonl", linesFor(2, 20))
	x := NewIndex(Dir(dir), filepath.Join(dir, Notes))
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := x.Refresh(ctx, nil); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for step := 1; step <= 2; step++ {
		readers.Go(func() {
			most := 0
			for ctx.Err() == nil {
				got := len(x.Table().Select(&Filter{Steps: []int{step}}))
				if got < max(most, 20) {
					t.Errorf("step %d has %d rows, and had %d", step, got, max(most, 20))
				}
				most = got
			}
		})
	}
	grow, err := os.OpenFile(filepath.Join(dir, "step_000002.jsonl"), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer grow.Close()
	for i := range 25 {
		for _, half := range []string{linesFor(2, 1)[:30], linesFor(2, 1)[30:]} {
			if _, err := grow.WriteString(half); err != nil {
				t.Fatal(err)
			}
		}
		if err := Replace(filepath.Join(dir, "step_000001.jsonl"), []byte(linesFor(1, 21+i))); err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("step_%06d.jsonl", 3+i), linesFor(3+i, 5))
	}
	stop()
	readers.Wait()
	if err := x.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := x.Table(); len(got.Select(&Filter{})) != 45+45+25*5 || got.Done != got.Bytes {
		t.Errorf("at the end there are %d rows, and %d of %d bytes are indexed", len(got.Select(&Filter{})), got.Done,
			got.Bytes)
	}
}

// held is a folder whose files cannot be indexed the first time before a gate opens.
type held struct {
	Dir
	begun chan string // the files
	gate  chan struct{}

	mu   sync.Mutex
	seen map[string]bool
}

func (h *held) Scan(ctx context.Context, f File) (*Segment, error) {
	h.mu.Lock()
	first := !h.seen[f.Name]
	h.seen[f.Name] = true
	h.mu.Unlock()
	if first {
		h.begun <- f.Name
		<-h.gate
	}
	return h.Dir.Scan(ctx, f)
}

func TestLookDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	for n := 1; n <= 3; n++ {
		step(t, dir, n, 0, 1)
	}
	folder := &held{Dir: Dir(dir), begun: make(chan string, 3), gate: make(chan struct{}), seen: map[string]bool{}}
	x := NewIndex(folder)
	told := make(chan struct{}, 10)
	done := make(chan error, 1)
	go func() { done <- x.Refresh(t.Context(), func(*Table) { told <- struct{}{} }) }()
	<-told
	for <-folder.begun != "step_000003.jsonl" { // until the newest is being indexed
	}
	got, err := x.Look(t.Context(), (&Filter{Steps: []int{3}}).Takes)
	if err != nil || len(got.Files) != 1 || len(got.Select(&Filter{})) != 2 {
		t.Errorf("the third step has %d files: %v", len(got.Files), err)
	}
	if now := x.Table(); len(now.Files) != 3 || now.Done != 0 {
		t.Errorf("the index has %d files, %d bytes of them done", len(now.Files), now.Done)
	}
	close(folder.gate)
	if err := <-done; err != nil || x.Table().Done != x.Table().Bytes {
		t.Errorf("in the end %d of %d bytes are done: %v", x.Table().Done, x.Table().Bytes, err)
	}
}
