package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
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
		if arithmetic, err = engine.NumericsOf(s.folder.Checkpoints(), s.site.Order); err != nil {
			return err
		}
	} else if s.site.Order != "" {
		return fmt.Errorf("run: an order of sums is asked for (%s), and the %s computes, not the local engine; "+
			"leave it out", s.site.Order, s.backend.Kind)
	}
	if s.id, err = s.folder.Identity(jobdir.Draw(s.cfg, arithmetic, s.site.Now())); err != nil {
		return err
	}
	note, err := s.id.Check(s.cfg, s.folder.Path, arithmetic, string(s.backend.Kind))
	if note != "" {
		fmt.Fprintln(s.site.Out, "note:", foreign.Text(note))
	}
	if err == nil {
		s.noteSettings()
	}
	return err
}

// noteSettings writes the configuration into the job's folder for trinity studio, and tells a person what changed since
// the last start. That of what trains is kept: an evaluation beside it changes nothing. The job does not need it, so a
// failure does not matter.
func (s *setting) noteSettings() {
	before := source.NotedSettings(s.folder.Path)
	mode, noted := before["mode"].Value.(string)
	if same := mode == string(s.cfg.Mode); noted && !same && !s.cfg.Mode.Trains() {
		return
	}
	var list []source.Setting
	for _, v := range s.cfg.Values() {
		list = append(list, source.Setting{Key: v.Key, Value: v.Value, Origin: v.Origin.String()})
	}
	source.NoteSettings(s.folder.Path, list)
	if changed := changedSettings(before, list); mode == string(s.cfg.Mode) && s.cfg.Mode.Trains() && len(changed) > 0 {
		fmt.Fprintf(s.site.Out, "note: changed since the last start of this job, from the next step on: %s\n",
			strings.Join(changed, ", "))
	}
}

// changedSettings are the values of training that differ from those before and do not follow from others, in words. An
// address may have a password in it and is not shown.
func changedSettings(before map[string]source.Setting, list []source.Setting) (changed []string) {
	for _, now := range list {
		was, known := before[now.Key]
		section, _, _ := strings.Cut(now.Key, ".")
		trains := slices.Contains([]string{"algorithm", "buffer", "data_processor", "explorer", "synchronizer",
			"trainer"}, section)
		if !known || !trains || strings.HasPrefix(now.Origin, "derived") {
			continue
		}
		a, b := jsonOf(was.Value), jsonOf(now.Value) // a value that was read has the types of JSON
		switch {
		case a == b:
		case strings.Contains(a+b, "://"):
			changed = append(changed, now.Key)
		default:
			changed = append(changed, fmt.Sprintf("%s %s → %s", now.Key, a, b))
		}
	}
	return changed
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
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
