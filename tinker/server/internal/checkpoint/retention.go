package checkpoint

import (
	"errors"
	"maps"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// CollectCheckpoints deletes expired checkpoints. Their settings say which they are; all checkpoints are listed, which
// reads a file for each, now and then only.
func (s *Checkpoints) CollectCheckpoints() error {
	now := s.Life.Now()
	var errs []error
	for _, path := range s.expiredCheckpoints(now) {
		s.Life.Log.Info("checkpoint expired", "path", path)
		errs = append(errs, s.Delete(path))
	}
	if now.Sub(s.listed) >= listEvery {
		list, err := s.Store.Checkpoints(s.Life.Ctx)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		s.forgetMarks(list, now.Add(-keepMarks))
		s.listed = now
	}
	return errors.Join(errs...)
}

// expiredCheckpoints are the paths of checkpoints that have expired and are still there.
func (s *Checkpoints) expiredCheckpoints(now time.Time) (gone []string) {
	s.State.Lock()
	var due []state.CheckpointSettings
	for _, marks := range s.State.Marks {
		for _, m := range marks {
			if m.Expired(now) {
				due = append(due, m)
			}
		}
	}
	s.State.Unlock()
	for _, m := range due {
		c, err := s.Store.Checkpoint(m.Path)
		if err != nil || c.SeqID != m.Seq { // gone, overwritten, or not to be read now
			continue
		}
		s.State.Lock()
		_, known := s.State.Describe(c)
		s.State.Unlock()
		if known {
			gone = append(gone, m.Path)
		}
	}
	return gone
}

// listEvery is the time between two rounds in which all checkpoints are listed.
const listEvery = time.Hour

// keepMarks is how long the settings of a checkpoint that is not there are kept: its save may still wait.
const keepMarks = 24 * time.Hour

// forgetMarks drops settings from before a time whose checkpoint is not there: it was deleted or overwritten, or its
// save failed. A list leaves out checkpoints that cannot be read now, so the store is asked for each that is not in it.
func (s *Checkpoints) forgetMarks(list []tinker.Checkpoint, before time.Time) {
	saved := make(map[string]int64, len(list)) // 0: there is no checkpoint
	for _, c := range list {
		saved[c.Path.String()] = c.SeqID
	}
	for _, path := range s.unlisted(saved, before) {
		switch c, err := s.Store.Checkpoint(path); {
		case err == nil:
			saved[path] = c.SeqID
		case errors.Is(err, tinker.ErrNotFound):
			saved[path] = 0
		}
	}
	s.State.Lock()
	defer s.State.Unlock()
	for path, marks := range s.State.Marks {
		seq, known := saved[path]
		maps.DeleteFunc(marks, func(of int64, m state.CheckpointSettings) bool {
			return known && of != seq && m.Time.Before(before)
		})
		if len(marks) == 0 {
			delete(s.State.Marks, path)
		}
	}
}

// unlisted are the paths of settings from before a time that are not among the saved checkpoints.
func (s *Checkpoints) unlisted(saved map[string]int64, before time.Time) (paths []string) {
	s.State.Lock()
	defer s.State.Unlock()
	for path, marks := range s.State.Marks {
		if _, listed := saved[path]; listed {
			continue
		}
		for _, m := range marks {
			if m.Time.Before(before) {
				paths = append(paths, path)
				break
			}
		}
	}
	return paths
}

// Delete removes a checkpoint; a missing one is no error.
func (s *Checkpoints) Delete(path string) error {
	if err := s.Remove(s.Life.Ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return err
	}
	return nil
}
