package studio

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio/curve"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// entry is a run with what is known of it. It is safe for concurrent use.
type entry struct {
	id     string
	run    source.Run
	opts   Options
	folder rollout.Folder // nil: no samples
	notes  []string       // where the studio's own files are, the first that can be written to

	busy sync.Mutex // held while the run's files are read

	mu      sync.Mutex
	log     *curve.Log
	logPath string
	index   *rollout.Index
	now     summary
	stamps  [3]time.Time // of the files when they were looked at last
	touched time.Time    // when something was asked for last
	clock   map[int]time.Time
	clockAt time.Time

	tokenizing sync.Once
	tokenizer  *tokenizer.Tokenizer // nil: the model's folder is gone
}

// summary is a run's row in the list of runs.
type summary struct {
	at         time.Time // when it was made; zero: never
	look       source.Look
	step       int
	speed      *float64
	reward     [][2]float64
	loss       [][2]float64 // of a run without rewards
	evaluation *evaluation
	left       *float64 // seconds
	disk       int64
	diskAt     time.Time
	tags       []string
	stalled    string // why the run seems to stand still; "" if it does not
	inexact    string // how far sampler and trainer are apart; "" if they are not
}

type evaluation struct {
	Name   string   `json:"name"`
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
}

func newEntry(id string, r source.Run, o Options) *entry {
	e := &entry{id: id, run: r, opts: o, folder: r.Rollouts()}
	if r.Kind() != source.Server {
		e.notes = append(e.notes, filepath.Join(r.Path(), rollout.Notes))
	}
	if o.Cache != "" {
		e.notes = append(e.notes, filepath.Join(o.Cache, id))
	}
	e.now.tags = e.readTags()
	return e
}

// changed reports whether the run's files changed since it was asked last, or may have.
func (e *entry) changed() bool {
	path, _ := e.run.Metrics()
	now := [3]time.Time{modified(path), modified(filepath.Join(e.run.Path(), "rollouts")),
		modified(filepath.Join(e.run.Path(), "lock"))}
	e.mu.Lock()
	defer e.mu.Unlock()
	was := e.stamps
	e.stamps = now
	stale := e.now.look.State == source.Running && time.Since(e.now.at) > 2*time.Second
	return was != now || e.now.at.IsZero() || stale
}

func modified(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// seen is the summary as it is.
func (e *entry) seen() summary {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

func (e *entry) used() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.touched
}

// curves is the log of metrics, read.
func (e *entry) curves() *curve.Log {
	path, key := e.run.Metrics()
	e.mu.Lock()
	if e.log == nil || e.logPath != path {
		e.log, e.logPath = curve.Open(path, key), path
	}
	log := e.log
	e.mu.Unlock()
	if _, err := log.Refresh(); err != nil {
		e.opts.Log.Warn("metrics cannot be read", "run", e.id, "error", err)
	}
	return log
}

// touch says that somebody wants the run.
func (e *entry) touch() {
	e.mu.Lock()
	e.touched = time.Now()
	e.mu.Unlock()
}

// size is how many bytes the run takes in memory, roughly.
func (e *entry) size() int {
	e.mu.Lock()
	log, index := e.log, e.index
	e.mu.Unlock()
	n := 0
	if log != nil {
		n += log.Size()
	}
	if index != nil {
		n += index.Table().Memory()
	}
	return n
}

// drop lets go of metrics and index; the summary stays. The next look at a running run would read its metrics again.
func (e *entry) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.index = nil
	if e.now.look.State != source.Running {
		e.log = nil
	}
}

// refresh reads what changed and makes the summary.
func (e *entry) refresh(ctx context.Context, events *hub) {
	if live, ok := e.run.(source.Live); ok {
		if err := live.Refresh(ctx); err != nil {
			e.opts.Log.Warn("the server does not answer", "run", e.id, "error", err)
		}
	}
	log := e.curves()
	s := summarize(e.run.Look(), log)
	before := e.seen()
	s.tags, s.disk, s.diskAt = before.tags, before.disk, before.diskAt
	if time.Since(s.diskAt) > time.Minute && e.run.Kind() != source.Server {
		s.disk, s.diskAt = diskUse(e.run.Path()), time.Now()
	}
	s.at = time.Now()
	s.inexact = inexact(log)
	if l := (meter{log: log}).stall(s, s.at); s.look.State == source.Running && l.State == bad {
		s.stalled = l.Reason
	}
	e.mu.Lock()
	e.now = s
	open := e.index != nil
	e.mu.Unlock()
	if open {
		e.lookUp(ctx, events)
	}
}

// diskUse is the bytes of the files below a folder.
func diskUse(dir string) (n int64) {
	err := disk.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if st, err := d.Info(); err == nil {
			n += st.Size()
		}
		return nil
	})
	if err != nil {
		return 0
	}
	return n
}

// lookUp brings the index up to date.
func (e *entry) lookUp(ctx context.Context, events *hub) {
	if e.folder == nil {
		return
	}
	err := e.opened().Refresh(ctx, func(t *rollout.Table) {
		if t.Bytes > 0 {
			done := float64(t.Done) / float64(t.Bytes)
			events.send(event{Type: "index", Run: e.id, Done: &done})
		}
	})
	if err != nil && ctx.Err() == nil {
		e.opts.Log.Warn("the index is not complete", "run", e.id, "error", err)
	}
}

// patience is how long a request waits for an index; it then gets what there is. It waits longer while not even the
// files are known: a table of nothing would say that there is nothing.
const (
	patience     = 800 * time.Millisecond
	listPatience = 20 * time.Second
)

// table is the index of the run's samples, as far as it is made.
func (s *Studio) table(ctx context.Context, e *entry) *rollout.Table {
	t, _ := s.tableNow(ctx, e)
	return t
}

// tableNow tells whether the index is complete, too.
func (s *Studio) tableNow(ctx context.Context, e *entry) (t *rollout.Table, complete bool) {
	if e.folder == nil {
		return &rollout.Table{}, true
	}
	e.touch()
	index := e.opened()
	done := make(chan struct{})
	go func() { // it continues after the request
		defer close(done)
		e.lookUp(context.WithoutCancel(ctx), s.events)
	}()
	complete = await(ctx, patience, done, nil)
	if !complete && len(index.Table().Files) == 0 {
		await(ctx, listPatience, done, index.Listed())
	}
	return index.Table(), complete
}

// await waits for one of two events, and reports whether one came in time; nil never comes.
func await(ctx context.Context, most time.Duration, one, other <-chan struct{}) bool {
	wait := time.NewTimer(most)
	defer wait.Stop()
	select {
	case <-one:
		return true
	case <-other:
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

// tableOf is the index of the files that want asks for. They are few, a step or so, and a request for them is not
// answered before they are indexed, however many others are.
func (s *Studio) tableOf(ctx context.Context, e *entry, want func(*rollout.File) bool) *rollout.Table {
	t, complete := s.tableNow(ctx, e)
	if complete {
		return t
	}
	some, err := e.opened().Look(ctx, want)
	if err != nil {
		return t
	}
	return some
}

// tableFor is the index that a filter's rows are in.
func (s *Studio) tableFor(ctx context.Context, e *entry, f *rollout.Filter) *rollout.Table {
	if len(f.Steps) == 0 {
		return s.table(ctx, e)
	}
	return s.tableOf(ctx, e, f.Takes)
}

// opened is the index of the run's samples, which may have looked at nothing yet.
func (e *entry) opened() *rollout.Index {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.index == nil {
		e.index = rollout.NewIndex(e.folder, e.notes...)
	}
	return e.index
}

// times is when the run's steps were done.
func (e *entry) times() map[int]time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.clockAt) > 2*time.Second {
		e.clock, e.clockAt = e.run.Clock(), time.Now()
	}
	return e.clock
}
