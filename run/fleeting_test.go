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
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/fake"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// forgets is a service without a journal: like a hosted service seen from a process that died, it has the checkpoints
// that were saved and no models.
func forgets(o engine.Options) (tinker.Service, error) { return fake.Open(o) }

// On a service that loses its models a killed job goes back to the last state it saved and trains again from the stored
// groups, without sampling any of them again; it ends with the metrics of an unbroken run, each step once.
func TestGoesBackToTheSavedState(t *testing.T) {
	t.Parallel()
	few := append(small, "trainer.save_interval=2")
	want := runs(t, load(t, t.TempDir(), few...), options())
	o := options()
	o.Fleeting = forgets
	same(t, "unbroken", survivesKills(t, o, 9, jobWith(few...)), want)
}

// What a job keeps while its state is not saved: the groups after the saved step, and the weights they are continued
// with.
func TestKeepsWhatItMayNeedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options()
	o.Fleeting = forgets
	o.FS = &stopBehind{FS: disk.OS(), step: 3}
	if _, err := Run(context.Background(), load(t, dir, append(small, "trainer.save_interval=2")...), o); !errors.Is(
		err, errEnough) {
		t.Fatal(err)
	}
	job := filepath.Join(dir, "trinity-tiny", "gsm8k")
	state, err := trainer.ReadState(job, "trainer")
	if err != nil || state.Step != 3 || state.Back().Step != 2 || state.Back().Position.Step != 3 {
		t.Fatalf("state %+v, %v", state, err)
	}
	store, err := buffer.OpenStore(filepath.Join(job, "buffer", "explored"), nil)
	if err != nil {
		t.Fatal(err)
	}
	steps := store.Steps()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if len(steps) == 0 || steps[0] != 3 {
		t.Errorf("groups of steps %v are stored, want step 3 and what follows", steps)
	}
	for step, want := range map[int]bool{1: false, 2: true, 3: true} {
		_, err := os.Stat(filepath.Join(job, fmt.Sprintf("global_step_%d", step), "remote_sampler_path.txt"))
		if (err == nil) != want {
			t.Errorf("sampler weights of step %d: %v, want them %v", step, err, want)
		}
	}
	var out bytes.Buffer
	stop := make(chan struct{})
	o.FS, o.Out, o.Stop = nil, io.MultiWriter(&out, &atStep{line: "resume", stop: stop}), stop
	if _, err := Run(context.Background(), load(t, dir, append(small, "trainer.save_interval=2")...), o); !errors.Is(
		err, ErrInterrupted) {
		t.Fatal(err)
	}
	if want :=
		"resume   after step 2, the last saved state; training repeats up to step 3"; !strings.Contains(
		out.String(), want) {
		t.Errorf("said %q, want %q", out.String(), want)
	}
}

var errEnough = errors.New("enough")

// stopBehind fails for good after the commit of a step.
type stopBehind struct {
	disk.FS
	step int
	done bool
}

func (s *stopBehind) Rename(from, to string) error {
	if s.done {
		return errEnough
	}
	err := s.FS.Rename(from, to)
	if data, rerr := os.ReadFile(to); strings.HasSuffix(to, "trainer_meta.json") && rerr == nil {
		s.done = strings.Contains(string(data), fmt.Sprintf(`"latest_iteration": %d,`, s.step))
	}
	return err
}
