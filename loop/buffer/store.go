package buffer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// Store keeps the finished groups of explore steps that are not trained yet. Every explore step has a write-ahead log
// of its own, <dir>/<step>.log, to which each finished group is appended and synced; it is removed when the step is
// trained. After a crash, OpenStore finds every group whose Put had returned.
//
// A Store is safe for concurrent use. Two processes must not have one directory open.
type Store struct {
	dir string
	fs  disk.FS

	mu    sync.Mutex
	steps map[int]*stored
}

// stored is the log of one explore step; the Store's mu guards tasks.
type stored struct {
	log   *wal.Log
	tasks map[string]bool // whether its group is durable; false: it is being written
}

// groupRecord is the kind of record that holds a group.
const groupRecord = 'G'

// OpenStore opens the store in dir, which is made if need be. What a crash left unfinished at the end of a log is cut
// off; any other damage is an error that names the file. A nil FS is the operating system's.
func OpenStore(dir string, dfs disk.FS) (*Store, error) {
	dfs = cmp.Or(dfs, disk.OS())
	s := &Store{dir: dir, fs: dfs, steps: map[int]*stored{}}
	if err := disk.MkdirAll(dfs, dir); err != nil {
		return nil, fmt.Errorf("buffer: cannot make the store: %w", err)
	}
	steps, err := s.list()
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := s.open(step); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Store) path(step int) string { return filepath.Join(s.dir, fmt.Sprintf("%08d.log", step)) }

func (s *Store) options() wal.Options {
	return wal.Options{FS: s.fs, Drop: true}
}

// list finds the steps that have a log. A name that the store would not have written is an error.
func (s *Store) list() ([]int, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("buffer: cannot list the store: %w", err)
	}
	steps := map[int]bool{}
	for _, entry := range entries {
		name, temporary := strings.CutSuffix(entry.Name(), ".tmp")
		name, _ = strings.CutSuffix(name, ".mark")
		var step int
		if _, err := fmt.Sscanf(name, "%d.log", &step); err != nil || name != filepath.Base(s.path(step)) {
			return nil, fmt.Errorf("buffer: %s is not a file of the store; move it elsewhere",
				filepath.Join(s.dir, entry.Name()))
		}
		if !temporary {
			steps[step] = true
		}
	}
	return slices.Sorted(maps.Keys(steps)), nil
}

// open opens the log of a step, making it if there is none. The caller holds mu, or is alone.
func (s *Store) open(step int) error {
	seg := &stored{tasks: map[string]bool{}}
	var err error
	seg.log, err = wal.Open(s.path(step), s.options(), eachGroup(step, func(r Record) { seg.tasks[r.Task] = true }))
	if err != nil {
		return fmt.Errorf("buffer: %w, or delete %s to sample step %d again", err, s.path(step), step)
	}
	s.steps[step] = seg
	return nil
}

// eachGroup reads the records of a step's log.
func eachGroup(step int, each func(Record)) func(byte, []byte) error {
	return func(kind byte, payload []byte) error {
		if kind != groupRecord {
			return fmt.Errorf("record of kind %q, which this version does not know", kind)
		}
		r, err := decodeRecord(payload)
		if err != nil {
			return err
		}
		if r.Step != step {
			return fmt.Errorf("a record of step %d in the file of step %d", r.Step, step)
		}
		each(r)
		return nil
	}
}

// Put stores a finished group; when it returns nil the group survives a crash. A group that is stored already is an
// error, and so is a full disk, which leaves what was stored before intact.
func (s *Store) Put(r Record) error {
	if r.Step < 0 {
		return fmt.Errorf("buffer: step %d is negative; explore steps count from 0", r.Step)
	}
	seg, err := s.claim(r)
	if err != nil {
		return err
	}
	at, err := seg.log.Append(groupRecord, appendRecord(nil, r))
	if errors.Is(err, wal.ErrTooLarge) {
		err = fmt.Errorf("%w; lower repeat_times or the lengths", err)
	}
	if err == nil {
		err = seg.log.Sync(at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		delete(seg.tasks, r.Task)
		return fmt.Errorf("buffer: cannot store task %q of step %d: %w", r.Task, r.Step, err)
	}
	seg.tasks[r.Task] = true
	return nil
}

// claim returns the log of a group's step, and sees to it that the group is put once.
func (s *Store) claim(r Record) (*stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps[r.Step] == nil {
		if err := s.open(r.Step); err != nil {
			return nil, err
		}
	}
	seg := s.steps[r.Step]
	if _, known := seg.tasks[r.Task]; known {
		return nil, fmt.Errorf("buffer: task %q of step %d is stored already; a group is stored once", r.Task, r.Step)
	}
	seg.tasks[r.Task] = false
	return seg, nil
}

// Has reports whether a group is stored.
func (s *Store) Has(step int, task string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg := s.steps[step]
	return seg != nil && seg.tasks[task]
}

// Steps lists the explore steps that have groups, ascending.
func (s *Store) Steps() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var steps []int
	for step, seg := range s.steps {
		if len(seg.durable()) > 0 {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps
}

func (seg *stored) durable() (tasks []string) {
	for task, done := range seg.tasks {
		if done {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// Tasks lists the tasks of a step that have a group, sorted.
func (s *Store) Tasks(step int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg := s.steps[step]
	if seg == nil {
		return nil
	}
	tasks := seg.durable()
	slices.Sort(tasks)
	return tasks
}

// Load reads back the groups of a step by task; the map is empty when there are none. Each call makes new experiences.
func (s *Store) Load(step int) (map[string]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := make(map[string]Record)
	seg := s.steps[step]
	if seg == nil {
		return groups, nil
	}
	_, err := wal.Check(s.path(step), s.options(), eachGroup(step, func(r Record) {
		if seg.tasks[r.Task] {
			groups[r.Task] = r
		}
	}))
	if err == nil && len(groups) != len(seg.durable()) {
		err = fmt.Errorf("%d groups of %d are there", len(groups), len(seg.durable()))
	}
	if err != nil {
		return nil, fmt.Errorf("buffer: cannot read back %s: %w", s.path(step), err)
	}
	return groups, nil
}

// Drop removes the groups of every step up to and including last: they are trained, and their training is on disk.
func (s *Store) Drop(last int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range slices.Sorted(maps.Keys(s.steps)) {
		if step > last {
			break
		}
		if err := s.remove(step); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the groups of a step. The caller holds mu.
func (s *Store) remove(step int) error {
	closing := s.steps[step].log.Close() // Windows removes no open file
	if err := wal.Remove(s.fs, s.path(step)); err != nil {
		return fmt.Errorf("buffer: cannot remove the groups of step %d: %w", step, err)
	}
	delete(s.steps, step)
	if closing != nil {
		return fmt.Errorf("buffer: cannot close the file of step %d: %w", step, closing)
	}
	return nil
}

// Close closes the files. What was put is on disk already.
func (s *Store) Close() error {
	s.mu.Lock()
	open := s.steps
	s.steps = map[int]*stored{}
	s.mu.Unlock()
	var errs []error
	for _, seg := range open {
		errs = append(errs, seg.log.Close())
	}
	return errors.Join(errs...)
}
