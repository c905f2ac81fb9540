package fleet_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

func TestTasksAreComputedByWorkers(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t)
	join(t, h, "a", square)
	join(t, h, "b", square)
	eventually(t, "two workers", func() bool { return here(h) == 2 })
	by := map[string]int{}
	for _, r := range doAll(t, h, 0, 100) {
		by[r.Worker]++
	}
	if len(by) != 2 {
		t.Errorf("answers came from %v; want both workers", by)
	}
	s := h.Status()
	if s.Done != 100 || s.Open != 0 || s.Strays != 0 {
		t.Errorf("status %+v", s)
	}
	info, err := os.Stat(h.Creds())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("worker.creds: %v %v; want mode 0600", info, err)
	}
}

func TestBlobsLargePayloadsAndLargeAnswers(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t)
	echo := func(ctx context.Context, k fleet.Task, have func(string) (string, error)) ([]byte, error) {
		path, err := have(k.Needs[0].Hash)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(path)
		return append(data, k.Payload...), err
	}
	cache := filepath.Join(t.TempDir(), "cache")
	join(t, h, "a", echo, func(o *fleet.JoinOptions) { o.Cache, o.CacheBytes = cache, 64<<20 })
	data := bytes.Repeat([]byte("0123456789abcde\n"), 9<<20/16+3)
	payload := bytes.Repeat([]byte("payload"), 200_000)
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	h.Offer(hash, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	defer h.Withdraw(hash)
	k := fleet.NewTask("echo", payload, 1, fleet.Need{Hash: hash, Size: int64(len(data))})
	r, err := h.Do(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.Payload, append(bytes.Clone(data), payload...)) {
		t.Errorf("an answer of %d bytes differs", len(r.Payload))
	}
	if _, err := os.Stat(filepath.Join(cache, "blobs", hash)); err != nil {
		t.Errorf("the blob is not in the worker's cache: %v", err)
	}
}

func TestTheHeadKeepsOnlyBlobsThatAreOffered(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fleet")
	blobs := filepath.Join(dir, "blobs")
	old := filepath.Join(blobs, strings.Repeat("0", 64))
	if err := errors.Join(os.MkdirAll(blobs, 0o700), os.WriteFile(old, []byte("old"), 0o600)); err != nil {
		t.Fatal(err)
	}
	h, _ := openHead(t, dir, "127.0.0.1:0", func(o *fleet.HeadOptions) { o.Local = square })
	kept := func() (names []string) {
		list, err := os.ReadDir(blobs)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			names = append(names, e.Name())
		}
		return names
	}
	if names := kept(); len(names) > 0 {
		t.Errorf("a start left %q", names)
	}
	data := []byte("weights")
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	h.Offer(hash, int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	k := fleet.NewTask("square", nil, 1, fleet.Need{Hash: hash, Size: int64(len(data))})
	if r, err := h.Do(t.Context(), k); err != nil || !bytes.Equal(r.Payload, want(k, data)) {
		t.Fatalf("computed in this process: %x, %v", r.Payload, err)
	}
	if names := kept(); !slices.Equal(names, []string{hash}) {
		t.Errorf("offered: %q", names)
	}
	h.Withdraw(hash)
	eventually(t, "the blob to leave", func() bool { return len(kept()) == 0 })
}

func TestErrorsOfTheFunctionComeBack(t *testing.T) {
	t.Parallel()
	h, _ := newHead(t)
	for _, name := range []string{"a", "b", "c"} {
		join(t, h, name, func(context.Context, fleet.Task, func(string) (string, error)) ([]byte, error) {
			return nil, os.ErrInvalid
		})
	}
	eventually(t, "three workers", func() bool { return here(h) == 3 })
	if _, err := h.Do(t.Context(), task(1)); err == nil {
		t.Error("no error of a task that every worker fails on")
	}
	k := task(2)
	k.ID = task(1).ID
	if _, err := h.Do(t.Context(), k); err == nil {
		t.Error("a task with the id of another was taken")
	}
}
