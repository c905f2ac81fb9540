package journal_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// parting is a script with two models, one of which is unloaded in the middle.
type parting struct {
	promised bool   // the unload
	state    string // of the unloaded model, saved before
	answers  string // of the model that stays
}

func second(svc tinker.Service) (tinker.TrainingClient, error) {
	seed := int64(4)
	return svc.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "s", ModelSeqID: 1, BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 2, Seed: &seed, TrainAttn: true}})
}

// run executes the rest of the script. Every request has its number, so that promised ones are only repeated.
func (p *parting) run(svc tinker.Service) error {
	c, err := begin(svc)
	if err != nil {
		return err
	}
	stays, err := second(svc)
	if err != nil {
		return err
	}
	other := &client{svc, stays}
	p.answers = ""
	ask := func(seq int64) error {
		a, err := other.do(seq)
		p.answers += a + "\n"
		return err
	}
	if err := errors.Join(ask(1), ask(2)); err != nil {
		return err
	}
	if !p.promised {
		for seq := int64(1); seq <= 3; seq++ {
			// promised, though the kill came before the answer
			if _, err := c.do(seq); err != nil && !errors.Is(err, tinker.ErrUnloaded) {
				return err
			}
		}
		if _, err := outcome(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 4, Name: "kept"})); err != nil &&
			!errors.Is(err, tinker.ErrUnloaded) {
			return err
		}
	}
	f, err := svc.(tinker.Unloader).UnloadModel(ctx, "s:train:0")
	if err != nil {
		return err
	}
	p.promised = true
	if _, err := f.Wait(ctx); err != nil {
		return err
	}
	return errors.Join(ask(3), ask(4))
}

// check compares the state after the script.
func (p *parting) check(t *testing.T, svc tinker.Service) {
	t.Helper()
	gone, err := begin(svc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.do(5); !errors.Is(err, tinker.ErrUnloaded) || !errors.Is(err, tinker.ErrNotFound) ||
		tinker.CategoryOf(err) != tinker.User {
		t.Errorf("a request to the unloaded model: %v", err)
	}
	info, err := gone.m.Info(ctx)
	if !errors.Is(err, tinker.ErrUnloaded) || info.BaseModel != "tiny" || info.LoRA.Rank != 4 || info.NextSeqID != 5 {
		t.Errorf("it is described as %+v, %v", info, err)
	}
	m, err := svc.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: "heir",
		Path: "tinker://s:train:0/weights/kept", Optimizer: true})
	if err != nil {
		t.Fatalf("its checkpoint: %v", err)
	}
	if p.state, err = outcome(m.Forward(ctx, batch(1))); err != nil {
		t.Fatal(err)
	}
}

// A process is stopped at each operation on the disk around an unload. A promised unload is completed after the next
// start, no request accepted before it is lost, and the other model is not affected.
func TestEveryKillAroundUnload(t *testing.T) {
	t.Parallel()
	dir := tinyModel(t)
	for name, o := range map[string]journal.Options{"log": {}, "snapshots": {SnapshotAfter: time.Nanosecond}} {
		t.Run(name, func(t *testing.T) {
			var want parting
			folder := t.TempDir()
			j, err := openFake(dir, folder, disk.OS(), o)
			if err == nil {
				err = want.run(j)
			}
			if err != nil {
				t.Fatal(err)
			}
			want.check(t, j)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			var seen strings.Builder
			if err := journal.Verify(filepath.Join(folder, "journal"),
				func(line string) { fmt.Fprintln(&seen, line) }); err != nil ||
				!strings.Contains(seen.String(), "model s:train:0, unloaded") {
				t.Errorf("verify: %v\n%s", err, &seen)
			}
			disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
				t.Parallel()
				var got parting
				job := func(fs disk.FS) error {
					j, err := openFake(dir, work, fs, o)
					if err != nil {
						return err
					}
					return errors.Join(got.run(j), j.Close())
				}
				return job, func() {
					j, err := openFake(dir, work, disk.OS(), o)
					if err != nil {
						t.Fatal(err)
					}
					got.check(t, j)
					if err := j.Close(); err != nil {
						t.Fatalf("close: %v", err)
					}
					if got != want {
						t.Errorf("%+v, unbroken %+v", got, want)
					}
				}
			})
		})
	}
}
