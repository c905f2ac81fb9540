package buffer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Store keeps the finished groups of explore steps that are not trained yet. Every explore step has a file of its own,
// <dir>/<step>.log, to which each finished group is appended and synced; the file is removed when the step is trained.
// After a crash, Open finds every group whose Put had returned.
//
// A Store is safe for concurrent use. Two processes must not have one directory open.
type Store struct {
	dir  string
	disk disk

	mu       sync.Mutex
	segments map[int]*segment
}

// segment is the file of one explore step. Groups that are put while another is written wait in queue and are written together next, so
// that many at a time cost few syncs. What is not written at is the Store's to guard.
type segment struct {
	writing sync.Mutex // held while the file is written, replaced or closed; taken before the Store's mu
	file    *os.File
	size    int64           // the bytes that are whole, synced records
	tasks   map[string]bool // whether it is stored; false: it waits
	queue   []*putting
	err     error // set when the file could not be brought back to size after a failed Put
}

// putting is a group on its way to the file.
type putting struct {
	task string
	data []byte
	done bool // written by whoever wrote the queue; err says how it went
	err  error
}

// OpenStore opens the store in dir, which is made if need be. What a crash left unfinished at the end of a file is cut
// off; any other damage is an error that names the file and the offset. The hook may be nil.
func OpenStore(dir string, hook Hook) (*Store, error) {
	s := &Store{dir: dir, disk: disk{hook}, segments: make(map[int]*segment)}
	if err := s.disk.mkdir(dir); err != nil {
		return nil, fmt.Errorf("buffer: cannot make the store: %w", err)
	}
	steps, err := s.listSteps()
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := s.recover(step); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Store) path(step int) string { return filepath.Join(s.dir, fmt.Sprintf("%08d.log", step)) }

// listSteps finds the segments that are there. A name it would not have written is an error.
func (s *Store) listSteps() ([]int, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("buffer: cannot list the store: %w", err)
	}
	var steps []int
	for _, entry := range entries {
		var step int
		if _, err := fmt.Sscanf(entry.Name(), "%d.log", &step); err != nil || entry.Name() != filepath.Base(s.path(step)) {
			return nil, fmt.Errorf("buffer: %s is not a file of the store; move it elsewhere", filepath.Join(s.dir, entry.Name()))
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// recover reads the segment of a step, cuts a torn tail and opens it for more.
func (s *Store) recover(step int) error {
	path := s.path(step)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("buffer: cannot read the store: %w", err)
	}
	records, whole, err := parseSegment(data, step)
	if err != nil {
		return fmt.Errorf("buffer: %s: %w; restore it from a copy, or delete it to sample step %d again", path, err, step)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("buffer: cannot open the store: %w", err)
	}
	seg := &segment{file: f, size: whole, tasks: make(map[string]bool)}
	for _, r := range records {
		seg.tasks[r.Task] = true
	}
	s.segments[step] = seg
	if whole == int64(len(data)) {
		return nil
	}
	if err := s.disk.truncate(f, whole); err != nil {
		return fmt.Errorf("buffer: cannot cut the torn tail: %w", err)
	}
	return nil
}

// parseSegment decodes the records of a segment up to its end or a torn tail; whole is where the last whole one ends.
func parseSegment(data []byte, step int) (records []Record, whole int64, err error) {
	rest := data
	for len(rest) > 0 {
		payload, after, err := nextPayload(rest)
		if errors.Is(err, errTorn) {
			return records, whole, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("offset %d: %w", whole, err)
		}
		r, err := decodeRecord(payload)
		if err != nil {
			return nil, 0, fmt.Errorf("offset %d: %w", whole, err)
		}
		if r.Step != step {
			return nil, 0, fmt.Errorf("offset %d: a record of step %d in the file of step %d", whole, r.Step, step)
		}
		records = append(records, r)
		rest = after
		whole = int64(len(data) - len(rest))
	}
	return records, whole, nil
}

// Put stores a finished group; when it returns nil the group survives a crash. A group that is stored already is an
// error, and so is a full disk, which leaves what was stored before intact.
func (s *Store) Put(r Record) error {
	if r.Step < 0 {
		return fmt.Errorf("buffer: step %d is negative; explore steps count from 0", r.Step)
	}
	data := appendRecord(nil, r)
	if int64(len(data)) > math.MaxInt32 {
		return fmt.Errorf("buffer: task %q of step %d takes %d bytes; a group can have at most 2 GiB, lower repeat_times or the lengths", r.Task, r.Step, len(data))
	}
	seg, p, err := s.enqueue(r, data)
	if err != nil {
		return err
	}
	seg.writing.Lock()
	defer seg.writing.Unlock()
	if !p.done {
		s.write(seg)
	}
	if p.err != nil {
		return fmt.Errorf("buffer: cannot store task %q of step %d: %w", r.Task, r.Step, p.err)
	}
	return nil
}

// enqueue makes a group wait for being written.
func (s *Store) enqueue(r Record, data []byte) (*segment, *putting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg, err := s.segment(r.Step)
	switch {
	case err != nil:
		return nil, nil, err
	case seg.err != nil:
		return nil, nil, seg.err
	case known(seg.tasks, r.Task):
		return nil, nil, fmt.Errorf("buffer: task %q of step %d is stored already; a group is stored once", r.Task, r.Step)
	}
	p := &putting{task: r.Task, data: data}
	seg.tasks[r.Task] = false
	seg.queue = append(seg.queue, p)
	return seg, p, nil
}

func known(tasks map[string]bool, task string) bool {
	_, ok := tasks[task]
	return ok
}

// write puts all that waits into the file, with one sync. The caller holds seg.writing.
func (s *Store) write(seg *segment) {
	s.mu.Lock()
	batch, err := seg.queue, seg.err
	seg.queue = nil
	s.mu.Unlock()
	var data []byte
	for _, p := range batch {
		data = append(data, p.data...)
	}
	var broken error
	if err == nil {
		if err = s.disk.append(seg.file, data, seg.size); err != nil {
			if cut := s.disk.truncate(seg.file, seg.size); cut != nil {
				broken = fmt.Errorf("buffer: %s takes no more groups: %w", seg.file.Name(), errors.Join(err, cut))
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		seg.size += int64(len(data))
	}
	if broken != nil {
		seg.err = broken
	}
	for _, p := range batch {
		p.done, p.err = true, err
		if seg.tasks[p.task] = true; err != nil {
			delete(seg.tasks, p.task)
		}
	}
}

// segment returns the open segment of a step and makes it if need be. The caller holds mu.
func (s *Store) segment(step int) (*segment, error) {
	if seg := s.segments[step]; seg != nil {
		return seg, nil
	}
	f, err := s.disk.create(s.path(step))
	if err != nil {
		return nil, fmt.Errorf("buffer: cannot start step %d: %w", step, err)
	}
	seg := &segment{file: f, tasks: make(map[string]bool)}
	s.segments[step] = seg
	return seg, nil
}

// Has reports whether a group is stored.
func (s *Store) Has(step int, task string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg := s.segments[step]
	return seg != nil && seg.tasks[task]
}

// Steps lists the explore steps that have groups, ascending.
func (s *Store) Steps() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var steps []int
	for step, seg := range s.segments {
		if seg.size > 0 {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	return steps
}

// Tasks lists the tasks of a step that have a group, sorted.
func (s *Store) Tasks(step int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seg := s.segments[step]
	if seg == nil {
		return nil
	}
	var tasks []string
	for task, stored := range seg.tasks {
		if stored {
			tasks = append(tasks, task)
		}
	}
	slices.Sort(tasks)
	return tasks
}

// Load reads back the groups of a step by task; the map is empty when there are none. Each call makes new experiences.
func (s *Store) Load(step int) (map[string]Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := make(map[string]Record)
	seg := s.segments[step]
	if seg == nil {
		return groups, nil
	}
	data := make([]byte, seg.size)
	if _, err := seg.file.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("buffer: cannot read back step %d: %w", step, err)
	}
	records, whole, err := parseSegment(data, step)
	if err == nil && whole != seg.size {
		err = fmt.Errorf("only %d of %d bytes are whole", whole, seg.size)
	}
	if err != nil {
		return nil, fmt.Errorf("buffer: cannot read back %s: %w", s.path(step), err)
	}
	for _, r := range records {
		groups[r.Task] = r
	}
	return groups, nil
}

// Drop removes the groups of every step up to and including last: they are trained, and their training is on disk.
func (s *Store) Drop(last int) error {
	s.mu.Lock()
	steps := slices.Sorted(maps.Keys(s.segments))
	s.mu.Unlock()
	for _, step := range steps {
		if step > last {
			break
		}
		if err := s.drop(step); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) drop(step int) error {
	s.mu.Lock()
	seg := s.segments[step]
	s.mu.Unlock()
	if seg == nil {
		return nil
	}
	seg.writing.Lock()
	defer seg.writing.Unlock()
	if err := s.disk.remove(s.path(step)); err != nil {
		return fmt.Errorf("buffer: cannot remove the groups of step %d: %w", step, err)
	}
	s.mu.Lock()
	delete(s.segments, step)
	s.mu.Unlock()
	if err := seg.file.Close(); err != nil {
		return fmt.Errorf("buffer: cannot close the file of step %d: %w", step, err)
	}
	return nil
}

// Close closes the files. What was put is on disk already.
func (s *Store) Close() error {
	s.mu.Lock()
	open := s.segments
	s.segments = make(map[int]*segment)
	s.mu.Unlock()
	var errs []error
	for _, seg := range open {
		seg.writing.Lock()
		errs = append(errs, seg.file.Close())
		seg.writing.Unlock()
	}
	return errors.Join(errs...)
}
