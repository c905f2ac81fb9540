// Package studio serves what runs wrote to a browser on this machine, from the list of runs down to a token, and as
// JSON. It reads the files of runs and writes only its own notes, an index and tags, below .studio, or into a cache.
//
// Start reading at New; routes.go lists what is served.
package studio

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// Options of a studio.
type Options struct {
	Dirs    []string // folders with runs below them
	URLs    []string // Tinker servers
	Tables  []source.Table
	Key     string   // for the servers
	Cache   string   // for the index of folders that cannot be written to; "": none is kept
	Token   string   // demanded of clients; "": none is
	Hosts   []string // names besides this machine's by which clients may reach it
	Webhook string   // an address that is told when a run ends, stalls or loses exactness; "": none
	Version string   // of the program
	Log     *slog.Logger
	Now     func() time.Time
	// Model finds the folder of a model by the name that a run, in the folder job, has for it; nil: names are folders.
	Model func(job, name string) (dir string, err error)
	// Ask samples from a run's checkpoint; nil: nothing can be asked.
	Ask Asker
}

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Model == nil {
		o.Model = func(_, name string) (string, error) { return name, nil }
	}
	return o
}

// Studio serves runs. Run looks after them while it serves.
type Studio struct {
	opts   Options
	runs   *shelf
	events *hub
	mux    *http.ServeMux
	served int // routes below /api/
}

// New makes a studio; it looks at nothing before Run.
func New(o Options) *Studio {
	s := &Studio{opts: o.withDefaults(), events: newHub()}
	s.runs = newShelf(s.opts, s.events)
	s.mux = s.routes()
	return s
}

// Run finds runs and watches them until ctx ends.
func (s *Studio) Run(ctx context.Context) error { return s.runs.watch(ctx) }

// Look finds the runs once, for use without Run.
func (s *Studio) Look(ctx context.Context) error { return s.runs.find(ctx) }

// ServeHTTP implements http.Handler.
func (s *Studio) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.guard(s.mux).ServeHTTP(w, r)
}
