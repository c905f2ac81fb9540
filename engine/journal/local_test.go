package journal_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Operations of a local job on the disk fail, with each errno in turn, once or for the rest of the process: the
// same script on a disk that works again has the answers of one that never met the fault, for every kind of request.
func TestEveryFault(t *testing.T) {
	dir, errnos := tinyModel(t), disktest.Errnos()
	often := journal.Options{Local: true, SnapshotAfter: time.Nanosecond, KeepResults: ops}
	for name, o := range map[string]journal.Options{"log": {Local: true}, "snapshots": often} {
		count, want := &disktest.Fault{FS: &disktest.Crash{}}, []string{}
		if err := scripted(dir, disktest.TempDir(t), count, o, &want); err != nil {
			t.Fatal(err)
		}
		stride := disktest.Stride(count.Count(), 6*len(errnos))
		for turn, at := 0, 1; at <= count.Count(); turn, at = turn+1, at+stride {
			f := &disktest.Fault{FS: &disktest.Crash{}, At: at, For: 1 - 2*(turn/len(errnos)%2),
				Err: errnos[turn%len(errnos)]}
			t.Run(fmt.Sprintf("%s, %v at %d for %d", name, f.Err, at, f.For), func(t *testing.T) {
				t.Parallel()
				work := disktest.TempDir(t)
				var got []string
				if err := scripted(dir, work, f, o, &got); err != nil && !errors.Is(err, f.Err) &&
					!strings.Contains(err.Error(), f.Err.Error()) {
					t.Errorf("after %s: %v", f.First(), err)
				}
				got = nil // the answers to all requests are asked for again
				if err := scripted(dir, work, &disktest.Crash{}, o, &got); err != nil {
					t.Fatalf("after %s, when the disk works again: %v", f.First(), err)
				}
				if !slices.Equal(got, want) {
					t.Errorf("after %s the answers are %q; want %q", f.First(), got, want)
				}
			})
		}
	}
}

// scripted is a process that runs the rest of the script.
func scripted(modelDir, work string, fs disk.FS, o journal.Options, answers *[]string) error {
	j, err := openFake(modelDir, work, fs, o)
	if err != nil {
		return err
	}
	return errors.Join(script(j, answers), j.Close())
}

// A model whose save failed refuses what follows until the next start, also what was sent before the failure was known.
func TestHaltsAfterAFault(t *testing.T) {
	dir, work := tinyModel(t), t.TempDir()
	d := &countingFS{FS: disk.OS()}
	j, err := openFake(dir, work, d, journal.Options{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	c := mustBegin(t, j)
	must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(1)))
	d.refuses.Store(true)
	step, err := c.m.OptimStep(ctx, tinker.OptimStepRequest{SeqID: 3, Adam: tinker.DefaultAdam()}) // waits for 2
	if err != nil {
		t.Fatal(err)
	}
	const want = "request 2 of model s:train:0 was not carried out; it is when the program starts again"
	if _, err := outcome(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 2, Name: "a"})); err == nil ||
		!strings.Contains(err.Error(), want) || !errors.Is(err, os.ErrPermission) {
		t.Errorf("the save: %v", err)
	}
	if _, err := step.Wait(ctx); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a step sent before: %v", err)
	}
	if _, err := outcome(c.m.Forward(ctx, batch(4))); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a later request: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// A job whose journal has the failure of an older version continues: from the log the save is executed at last, and
// where a snapshot is past it, under the next number.
func TestContinuesAfterAFailureOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	dir, work := tinyModel(t), t.TempDir()
	var want []string
	if err := scripted(dir, t.TempDir(), disk.OS(), journal.Options{}, &want); err != nil {
		t.Fatal(err)
	}
	d := &countingFS{FS: disk.OS()}
	older, err := openFake(dir, work, d, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := mustBegin(t, older)
	for seq := int64(1); seq <= 6; seq++ {
		d.refuses.Store(seq == 6)
		if _, err := c.do(seq); (err != nil) != (seq == 6) {
			t.Fatalf("request %d: %v", seq, err)
		}
	}
	killed := asKilled(t, work)
	if err := older.Close(); err != nil { // with a snapshot
		t.Fatal(err)
	}
	var got []string
	if err := scripted(dir, killed, disk.OS(), journal.Options{Local: true}, &got); err != nil ||
		fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("from the log: %q, %v; want %q", got, err, want)
	}
	for start := range 2 { // the second finds what the first one did
		j, err := openFake(dir, work, disk.OS(), journal.Options{Local: true})
		if err != nil {
			t.Fatal(err)
		}
		c := mustBegin(t, j)
		if _, err := c.do(6); !errors.Is(err, tinker.ErrSpent) {
			t.Errorf("start %d: request 6: %v; want ErrSpent", start, err)
		}
		seq := int64(6)
		f, err := tinker.Numbered(&seq, func(seq int64) (*tinker.Future[tinker.SaveOutput], error) {
			return c.m.SaveState(ctx, tinker.SaveRequest{SeqID: seq, Name: "mid"})
		})
		if text, err := outcome(f, err); err != nil || text != want[5] || seq != 8 {
			t.Errorf("start %d: %s, %v, then number %d; want %s, then 8", start, text, err, seq, want[5])
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A request of a job that was given other settings takes the next number where the former one changed nothing.
func TestNumberOfAnotherRequest(t *testing.T) {
	j, err := openFake(tinyModel(t), t.TempDir(), disk.OS(), journal.Options{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := mustBegin(t, j)
	must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "a"}))
	must[tinker.ForwardOutput](t)(c.m.ForwardBackward(ctx, batch(2)))
	if _, err := outcome(c.m.ForwardBackward(ctx, batch(1))); !errors.Is(err, tinker.ErrSpent) {
		t.Errorf("after a save: %v; want ErrSpent", err)
	}
	if _, err := outcome(c.m.Forward(ctx, batch(2))); err == nil || errors.Is(err, tinker.ErrSpent) ||
		!strings.Contains(err.Error(), "was used for another request") {
		t.Errorf("after a gradient: %v; want a refusal", err)
	}
}

// On a server, whose clients outlive it, the promise of a loaded state waits until the disk can keep it.
func TestLoadedStateWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	d := &snapless{FS: disk.OS()}
	waits := make(chan struct{}, 100)
	j, err := openFake(tinyModel(t), t.TempDir(), d, journal.Options{Warn: func(msg string) {
		if strings.Contains(msg, "has loaded a state") {
			waits <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := mustBegin(t, j)
	path := must[tinker.SaveOutput](t)(c.m.SaveState(ctx, tinker.SaveRequest{SeqID: 1, Name: "a"})).Path
	d.now.Store(true)
	f, err := c.m.LoadState(ctx, tinker.LoadRequest{SeqID: 2, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	<-waits
	select {
	case <-f.Done():
		t.Error("promised before the disk has it")
	default:
	}
	d.now.Store(false)
	if out, err := f.Wait(ctx); err != nil || out.Path != path {
		t.Errorf("%+v, %v", out, err)
	}
}
