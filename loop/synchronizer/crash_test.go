package synchronizer

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// Stopped at any operation, a log of events keeps the choices that a process made or read, and the folder what the
// processes say of themselves.
func TestEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		dir := filepath.Join(work, "job")
		chosen, said, lives := map[int]int{}, TrainerStatus{}, 0
		job := func(fs disk.FS) error {
			lives++
			o, err := OpenOrder(fs, filepath.Join(dir, "log", "order.jsonl"), time.Now)
			if err != nil {
				return err
			}
			defer o.Close()
			f := Folder{fs, dir}
			if s, _, err := f.Trainer(); err != nil || s.Step < said.Step {
				return fmt.Errorf("the trainer said %+v, and it reads %+v, %w", said, s, err)
			}
			for step := range 3 {
				version, ok := o.Version(step)
				if was, known := chosen[step]; known && version != was {
					return fmt.Errorf("step %d was sampled with version %d and now %d, %v", step, was, version, ok)
				}
				if !ok {
					version = 10 * lives // another process may see other weights
					if err := o.Note(Sampled, step, version, ""); err != nil {
						return err
					}
				}
				chosen[step] = version
				if err := f.WriteTrainer(TrainerStatus{State: Running, Step: step}); err != nil {
					return err
				}
				said.Step = step
			}
			return nil
		}
		return job, func() {
			o, err := OpenOrder(disk.OS(), filepath.Join(dir, "log", "order.jsonl"), time.Now)
			if err != nil || !maps.Equal(o.versions, chosen) {
				t.Errorf("the log has %v, %v, want %v", o.versions, err, chosen)
			}
			o.Close()
		}
	})
}
