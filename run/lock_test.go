package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// gate holds a run up until it is opened.
type gate struct {
	tinker.Service
	reached, open chan struct{}
	once          *sync.Once
}

func (g gate) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	g.once.Do(func() { close(g.reached) })
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return g.Service.CreateModel(ctx, req)
}

func (g gate) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if err := g.wait(ctx); err != nil {
		return nil, err
	}
	return g.Service.SamplingClient(ctx, req)
}

func (g gate) wait(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// The same command twice at once: the second is refused with the first one's pid and host before it has written
// anything, the first is none the worse, and after it the job continues.
func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string][]string{"both": nil, "sft": {
		"mode=train", "algorithm.algorithm_type=sft", "buffer.train_batch_size=2", "buffer.explorer_input.taskset=null",
		"buffer.trainer_input.experience_buffer={name: sft, storage_type: file, path: testdata/sft.jsonl}"}} {
		t.Run(name, func(t *testing.T) {
			if name == "sft" {
				path := filepath.Join(t.TempDir(), "sft.jsonl")
				row := `{"message": [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}]}` + "\n"
				if err := os.WriteFile(path, []byte(strings.Repeat(row, 8)), 0o644); err != nil {
					t.Fatal(err)
				}
				mode[4] = "buffer.trainer_input.experience_buffer={name: sft, storage_type: file, path: " + path + "}"
			}
			dir := t.TempDir()
			args := and(tiny, mode...)
			g := gate{reached: make(chan struct{}), open: make(chan struct{}), once: new(sync.Once)}
			o := options()
			o.Wrap = func(s tinker.Service) tinker.Service { g.Service = s; return g }
			first := make(chan error, 1)
			go func() {
				_, err := Run(t.Context(), load(t, dir, args...), o)
				first <- err
			}()
			select {
			case <-g.reached:
			case err := <-first:
				t.Fatalf("the first run ended: %v", err)
			}
			before := snapshotOf(t, dir)
			_, err := Run(t.Context(), load(t, dir, args...), options())
			host, _ := os.Hostname()
			if want := fmt.Sprintf("pid %d on host %s", os.Getpid(), host); !errors.Is(err, disk.ErrLocked) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("the second run: %v; want one that names %s", err, want)
			}
			if after := snapshotOf(t, dir); after != before {
				t.Errorf("the second run changed the job directory:\n%s\nbefore:\n%s", after, before)
			}
			close(g.open)
			if err := <-first; err != nil {
				t.Errorf("the first run: %v", err)
			}
			if _, err := Run(t.Context(), load(t, dir, args...), options()); err != nil {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// snapshotOf is all files of a folder with their sizes.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, st.Size())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Roles exclude each other only where two processes would do the same work.
func TestLockRoles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b   config.Mode
		second string // the name of b's explorer, if it is another
		both   bool   // may be at work together
	}{
		{config.Both, config.Both, "", false},
		{config.Both, config.Both, "second", false},
		{config.Both, config.Train, "", false},
		{config.Both, config.ServeTrain, "", false},
		{config.Train, config.Train, "", false},
		{config.Train, config.Explore, "", true},
		{config.Explore, config.Explore, "", false},
		{config.Explore, config.Explore, "second", true},
		{config.Serve, config.Train, "", true},
		{config.Serve, config.Explore, "", false},
		{config.Serve, config.Explore, "second", true},
		{config.Bench, config.Both, "", true},
		{config.Bench, config.Bench, "", false},
	} {
		dir := t.TempDir()
		first, second := load(t, dir, tiny...), load(t, dir, tiny...)
		first.Mode, second.Mode = tt.a, tt.b
		if tt.second != "" {
			second.Explorer.Name = tt.second
		}
		synctest.Test(t, func(t *testing.T) { // the wait for a lock takes no time there
			lock := func(cfg *config.Config) (func() error, error) {
				return jobdir.Of(cfg, disk.OS(), dir).Lock(t.Context(), io.Discard, jobdir.Roles(cfg)...)
			}
			unlock, err := lock(first)
			if err != nil {
				t.Fatal(err)
			}
			also, err := lock(second)
			if (err == nil) != tt.both || err != nil && !errors.Is(err, disk.ErrLocked) {
				t.Errorf("%v %s beside %v: %v", tt.b, tt.second, tt.a, err)
			}
			if err == nil {
				err = also()
			} else {
				err = nil
			}
			if err := errors.Join(err, unlock()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Ctrl-C ends the wait for a lock.
func TestStopEndsTheWaitForALock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	stop := make(chan struct{})
	j := job.New(config.Default(), Options{Out: &out, Stop: stop})
	j.Dir = jobdir.Dir{FS: disk.OS(), Path: dir}
	if err := j.Lock(t.Context(), jobdir.Trainer); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	close(stop)
	if err := j.Lock(t.Context(), jobdir.Trainer); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v; want ErrInterrupted", err)
	}
}
