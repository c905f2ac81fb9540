package synchronizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Event is one thing that happened in a run whose order is not settled beforehand.
type Event struct {
	Event   string    `json:"event"` // sampled, published, trained, left_out …
	Step    int       `json:"step"`
	Version int       `json:"version"`
	Left    int       `json:"left,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Time    time.Time `json:"time"`
}

// The events that the package itself writes and reads.
const (
	Sampled   = "sampled"   // explore step Step samples with Version
	Published = "published" // the weights of train step Step were published
	Held      = "held"      // they were not: no explorer asked for them
	Fed       = "fed"       // explore steps up to Step are enough for Version train steps, and Left samples are over
	Counted   = "counted"   // the same, where the count begins: what Fed said before does not hold
)

// Order is the log of events, a JSON value per line: where results depend on what came first, it says what did. A
// restarted run keeps to the choices that it finds in it. It is safe for concurrent use.
type Order struct {
	now func() time.Time

	mu       sync.Mutex
	file     *disk.Grown
	versions map[int]int  // of explore steps
	decided  map[int]bool // of train steps: published or held
	fed      map[int]Feed // by explore step
}

// Feed is what explore steps are enough for.
type Feed struct{ Trained, Left int }

// OpenOrder opens or makes the log at path. A last line that a crash left unfinished is cut off.
func OpenOrder(dfs disk.FS, path string, now func() time.Time) (*Order, error) {
	o := &Order{now: now, versions: map[int]int{}, decided: map[int]bool{},
		fed: map[int]Feed{}}
	if err := disk.MkdirAll(dfs, filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("synchronizer: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("synchronizer: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for i, line := range bytes.Split(data[:whole], []byte("\n")) {
		var e Event
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("synchronizer: line %d of %s cannot be read: %w; restore it from a backup, or "+
				"begin in another job directory", i+1, path, err)
		}
		o.keep(e)
	}
	if o.file, err = disk.OpenGrown(dfs, path, int64(whole)); err != nil {
		return nil, fmt.Errorf("synchronizer: %w", err)
	}
	return o, nil
}

// Version is the version that an explore step was decided to sample with, if it was.
func (o *Order) Version(step int) (version int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	version, ok = o.versions[step]
	return version, ok
}

// before is the version of the last step below step that has one.
func (o *Order) before(step int) (version int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := -1
	for s, v := range o.versions {
		if s < step && s > last {
			last, version, ok = s, v, true
		}
	}
	return version, ok
}

// Note writes an event down; it is on the disk when Note returns. Note may be called on nil, which notes nothing.
func (o *Order) Note(event string, step, version int, detail string) error {
	if o == nil {
		return nil
	}
	return o.add(Event{Event: event, Step: step, Version: version, Detail: detail})
}

func (o *Order) add(e Event) error {
	e.Time = o.now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("synchronizer: %w", err)
	}
	if err := o.file.Sync(); err != nil {
		return fmt.Errorf("synchronizer: %w", err)
	}
	o.keep(e)
	return nil
}

// Sampling writes down an event of the explorer. Like Note, it may be called on nil.
func (o *Order) Sampling(event string, step int, detail string) error {
	return o.Note(event, step, 0, detail)
}

// keep remembers a choice.
func (o *Order) keep(e Event) {
	switch e.Event {
	case Sampled:
		o.versions[e.Step] = e.Version
	case Published, Held:
		o.decided[e.Step] = e.Event == Published
	case Fed, Counted:
		if e.Event == Counted {
			clear(o.fed)
		}
		o.fed[e.Step] = Feed{e.Version, e.Left}
	}
}

// Fed writes down what the explore steps up to step are enough for, unless that is known.
func (o *Order) Fed(step int, f Feed) error {
	if known, ok := o.Feed(step); ok && known == f {
		return nil
	}
	return o.add(Event{Event: Fed, Step: step, Version: f.Trained, Left: f.Left})
}

// Count begins the count of explore steps anew after step, unless trained is what it says there.
func (o *Order) Count(step, trained int) error {
	if known, ok := o.Feed(step); step <= 0 || ok && known.Trained == trained {
		return nil
	}
	return o.add(Event{Event: Counted, Step: step, Version: trained})
}

// Feed is what the explore steps up to step are enough for, if that was written down.
func (o *Order) Feed(step int) (f Feed, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok = o.fed[step]
	return f, ok || step <= 0
}

// trained is Feed's train steps. For a step before the count began they are those of its beginning.
func (o *Order) trained(step int) (trained int, known bool) {
	if f, ok := o.Feed(step); ok {
		return f.Trained, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.fed) == 0 {
		return 0, false
	}
	first := slices.Min(slices.Collect(maps.Keys(o.fed)))
	return o.fed[first].Trained, step < first
}

// Decided is whether the weights of a train step were to be published, if that was decided.
func (o *Order) Decided(step int) (published, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	published, ok = o.decided[step]
	return published, ok
}

// Decide settles whether the weights of a train step are published.
func (o *Order) Decide(step int, publish bool) error {
	if publish {
		return o.Note(Published, step, step, "")
	}
	return o.Note(Held, step, step, "")
}

// Close closes the log.
func (o *Order) Close() error { return o.file.Close() }
