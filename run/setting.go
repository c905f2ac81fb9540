package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/monitor/studio/source"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// setting is what a run is built from: where it takes place, what it was asked for, and which job it is.
type setting struct {
	site    site.Site
	cfg     *config.Config
	backend config.Backend
	folder  jobdir.Dir
	id      jobdir.Identity
	stage   jobdir.Stage // what the stages before this one left
	staged  bool         // the run is a stage of several
	instead env.Toolbox  // of the tools that configurations name; nil: those are opened
	opened  func(close func() error)
}

// newSetting returns the setting of a run in the folder dir, which has no identity yet.
func newSetting(cfg *config.Config, backend config.Backend, o Options, dir string, c *site.Closers) setting {
	s := o.site()
	return setting{site: s, cfg: cfg, backend: backend, folder: jobdir.Of(cfg, s.FS, dir), stage: o.stage,
		staged: o.staged, instead: o.tools, opened: c.Add}
}

// toolbox is where environments have their tools from, until the run is closed.
func (s setting) toolbox(note func(string)) env.Toolbox {
	if s.instead != nil {
		return s.instead
	}
	box := tool.NewBox(tool.Options{LookupEnv: s.site.LookupEnv, Note: note, Staged: s.site.Sandboxes})
	s.opened(box.Close)
	return box
}

// local reports whether the run is on the engine of this machine.
func (s setting) local() bool { return s.backend.Kind == config.Local }

// aside reports whether the process samples beside a trainer in another one.
func (s setting) aside() bool { return jobdir.Aside(s.cfg) }

// lock keeps a second process with one of this one's roles out of the folder until the run is closed. It waits for a
// process that is about to end.
func (s setting) lock(ctx context.Context, roles ...string) error {
	unlock, err := lockDir(ctx, s.site, s.folder, roles...)
	if err == nil {
		s.opened(unlock)
	}
	return err
}

// lockDir takes roles in a folder, until the run is asked to stop.
func lockDir(ctx context.Context, s site.Site, d jobdir.Dir, roles ...string) (unlock func() error, err error) {
	ctx, cancel := s.WhileWanted(ctx)
	defer cancel()
	return d.Lock(ctx, s.Out, roles...)
}

// identify reads run.json or makes it.
func (s *setting) identify() (err error) {
	arithmetic := "" // on a server it is the server's affair
	if s.local() {
		if arithmetic, err = engine.NumericsOf(s.folder.Checkpoints()); err != nil {
			return err
		}
	}
	if s.id, err = s.folder.Identity(jobdir.Draw(s.cfg, arithmetic, s.site.Now())); err != nil {
		return err
	}
	note, err := s.id.Check(s.cfg, s.folder.Path, arithmetic, string(s.backend.Kind))
	if note != "" {
		fmt.Fprintln(s.site.Out, "note:", note)
	}
	if err == nil {
		s.noteSettings()
	}
	return err
}

// noteSettings writes the configuration into the job's folder for trinity studio. The job does not need it, so a
// failure does not matter.
func (s *setting) noteSettings() {
	var list []source.Setting
	for _, v := range s.cfg.Values() {
		list = append(list, source.Setting{Key: v.Key, Value: v.Value, Origin: v.Origin.String()})
	}
	source.NoteSettings(s.folder.Path, list)
}

// progress makes what tells a person how the run goes.
func (s setting) progress() (*console.Progress, error) {
	o := console.Options{Out: s.site.Out, Terminal: s.site.Terminal, Now: s.site.Now, Dir: s.folder.Path,
		Level: s.cfg.Log.Level, Busy: s.site.Busy}
	if s.cfg.Mode.Serves() { // and waits for programs
		o.Busy = nil
	}
	p, err := console.Open(o)
	if err == nil {
		s.opened(p.Close)
	}
	return p, err
}
