package buffer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Resume is Load for a step that continues. A group with numbers that training can't use, which older versions stored,
// is empty, and warn is told. If all groups are empty, every task failed, and whatever made them fail may be mended by
// now: they are removed, and the step begins anew.
func (s *Store) Resume(step int, warn func(string)) (map[string]Record, error) {
	groups, err := s.Load(step)
	if err != nil || len(groups) == 0 {
		return groups, err
	}
	for _, task := range slices.Sorted(maps.Keys(groups)) {
		r := groups[task]
		if err := experience.CheckAll(r.Experiences); err != nil {
			warn(fmt.Sprintf("step %d: the stored group of task %q is left out: %v", step, task, err))
			r.Experiences = nil
			groups[task] = r
		}
	}
	for _, r := range groups {
		if len(r.Experiences) > 0 {
			return groups, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]Record{}, s.remove(step)
}

// Forget removes some groups of a step, which can then be put again, and keeps the others. No group of the step may be
// put meanwhile. A crash leaves all of them or none.
func (s *Store) Forget(step int, tasks []string) error {
	if len(tasks) == 0 {
		return nil
	}
	groups, err := s.Load(step)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		if _, known := groups[task]; !known {
			return fmt.Errorf("buffer: step %d has no group of task %q to forget", step, task)
		}
		delete(groups, task)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seg := s.steps[step]
	err = seg.log.Rewrite(func(add func(kind byte, payload []byte) error) error {
		for _, task := range slices.Sorted(maps.Keys(groups)) {
			if err := add(groupRecord, appendRecord(nil, groups[task])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("buffer: cannot forget %d groups of step %d: %w", len(tasks), step, err)
	}
	for _, task := range tasks {
		delete(seg.tasks, task)
	}
	return nil
}
