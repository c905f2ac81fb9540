package studio

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// shelf is the runs that were found.
type shelf struct {
	opts    Options
	events  *hub
	servers []*source.Tinker

	mu   sync.Mutex
	runs map[string]*entry // by id
}

func newShelf(o Options, events *hub) *shelf {
	s := &shelf{opts: o, events: events, runs: map[string]*entry{}}
	for _, url := range o.URLs {
		t := &source.Tinker{URL: url, Key: o.Key}
		if o.Cache != "" {
			sum := sha256.Sum256([]byte(url))
			t.Notes = filepath.Join(o.Cache, "server-"+hex.EncodeToString(sum[:4]))
		}
		s.servers = append(s.servers, t)
	}
	return s
}

// Times between two looks: at the files of known runs, and for new runs.
const (
	lookEvery = 400 * time.Millisecond
	findEvery = 5 * time.Second
)

// watch finds runs and looks at them until ctx ends.
func (s *shelf) watch(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var work errgroup.Group
	defer work.Wait()
	found := time.Time{}
	for {
		if now := time.Now(); now.Sub(found) >= findEvery {
			if err := s.find(ctx); err != nil && ctx.Err() == nil {
				s.opts.Log.Warn("runs cannot be found", "error", err)
			}
			found = now
		}
		s.look(ctx, &work)
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// find brings the list of runs up to date.
func (s *shelf) find(ctx context.Context) error {
	now := map[string]*entry{}
	var first error
	add := func(runs []source.Run, err error) {
		first = cmp.Or(first, err)
		for _, r := range runs {
			id := idOf(r)
			now[id] = s.entry(id, r)
		}
	}
	for _, dir := range s.opts.Dirs {
		add(source.Find(ctx, dir))
	}
	for _, server := range s.servers {
		add(server.Find(ctx))
	}
	for i := range s.opts.Tables {
		add([]source.Run{&s.opts.Tables[i]}, nil)
	}
	s.mu.Lock()
	changed := len(now) != len(s.runs)
	for id := range now {
		changed = changed || s.runs[id] == nil
	}
	s.runs = now
	s.mu.Unlock()
	if changed {
		s.events.send(event{Type: "runs"})
	}
	return first
}

// entry is the run that is known by an id, or a new one.
func (s *shelf) entry(id string, r source.Run) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.runs[id]; e != nil && e.run.Kind() == r.Kind() {
		return e
	}
	return newEntry(id, r, s.opts)
}

var odd = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// idOf is a run's id: its name, and digits of its path, which tell runs of one name apart.
func idOf(r source.Run) string {
	path := r.Path()
	if abs, err := filepath.Abs(path); err == nil && r.Kind() != source.Server {
		path = abs
	}
	sum := sha256.Sum256([]byte(path))
	name := strings.Trim(odd.ReplaceAllString(filepath.Base(path), "-"), "-")
	return cmp.Or(name[:min(len(name), 40)], "run") + "-" + hex.EncodeToString(sum[:4])
}

// get is a run by id, nil if there is none.
func (s *shelf) get(id string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[id]
}

// all lists the runs, those that changed last first.
func (s *shelf) all() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*entry, 0, len(s.runs))
	for _, e := range s.runs {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(b.seen().look.Updated.Compare(a.seen().look.Updated), cmp.Compare(a.id, b.id))
	})
	return list
}

// look tells about runs whose files changed. What takes long is done in work.
func (s *shelf) look(ctx context.Context, work *errgroup.Group) {
	for _, e := range s.all() {
		if !e.busy.TryLock() {
			continue // before changed, which forgets a change that it has reported
		}
		if !e.changed() {
			e.busy.Unlock()
			continue
		}
		work.Go(func() error {
			defer e.busy.Unlock()
			before := e.seen()
			e.refresh(ctx, s.events)
			after := e.seen()
			if before.look.State != after.look.State || before.at.IsZero() || before.step != after.step {
				s.events.send(event{Type: "runs"})
			}
			s.events.send(event{Type: "run", Run: e.id, Step: after.step})
			if s.opts.Webhook != "" {
				for _, n := range notices(e, before, after, after.stalled, after.inexact) {
					s.tell(ctx, n)
				}
			}
			return nil
		})
	}
	s.forget()
}

// forget drops data that takes much memory and has not been asked for.
func (s *shelf) forget() {
	list := s.all()
	slices.SortFunc(list, func(a, b *entry) int { return b.used().Compare(a.used()) })
	total := 0
	for _, e := range list {
		size := e.size()
		if total += size; total > memory && size > 0 && time.Since(e.used()) > time.Minute {
			e.drop()
		}
	}
}

// memory is how many bytes of metrics and index rows are kept, roughly.
const memory = 128 << 20
