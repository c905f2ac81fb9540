package trainer

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// Stopped at any operation, the state has every step that was committed and names no checkpoint without its note.
func TestNotesEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		dir, committed, noted := filepath.Join(work, "project", "job"), 0, 0
		read := func(n jobNotes) (s State, err error) {
			if s, err = ReadState(dir, "trainer"); err != nil {
				return s, err
			}
			if s.Step < committed {
				return s, fmt.Errorf("step %d was committed, the state is %+v", committed, s)
			}
			for step := 1; step <= max(s.Step, noted); step++ {
				for _, k := range []Kind{Critic, IntervalState, Sampler} {
					if path, err := n.Path(k, step); err != nil || path != fmt.Sprint(k, step) {
						return s, fmt.Errorf("the note of step %d is %q, %w", step, path, err)
					}
				}
			}
			return s, nil
		}
		job := func(fs disk.FS) error {
			n := jobNotes{fs, dir, "trainer", "x"}
			if err := disk.MkdirAll(fs, dir); err != nil {
				return err
			}
			s, err := read(n)
			if err != nil {
				return err
			}
			for step := s.Step + 1; step <= 2; step++ {
				for _, k := range []Kind{Critic, IntervalState, Sampler} {
					if err := n.Note(k, step, fmt.Sprint(k, step)); err != nil {
						return err
					}
				}
				noted = step
				s.Step, s.Saved, s.NextSeqID = step, step, int64(step+1)
				if err := n.Write(s); err != nil {
					return err
				}
				committed = step
			}
			return nil
		}
		return job, func() {
			if s, err := read(jobNotes{dir: dir, name: "trainer"}); err != nil || s.Step != 2 {
				t.Errorf("the state is %+v, %v", s, err)
			}
		}
	})
}
