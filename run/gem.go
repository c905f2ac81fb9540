package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/sink"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// shippedModel is the model that plays when the local engine is to play and no model is named.
const shippedModel = "examples/tiny/guess/model"

// Gem trains a model on an environment: the command trinity gem. pairs are key=value, the later over the earlier.
func Gem(ctx context.Context, pairs []string, o Options) error {
	o, quiet := o.withDefaults().withBusy(ctx)
	defer quiet()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var closers site.Closers
	release := watchStop(ctx, o.Stop, func() { cancel(ErrInterrupted) })
	g, err := openGem(ctx, pairs, o, &closers)
	release()
	if err != nil {
		return errors.Join(err, closers.Close())
	}
	return errors.Join(g.run(ctx), closers.Close())
}

// gemRun is the parts of trinity gem: the model with its service, and the trainer.
type gemRun struct {
	setting
	c       gem.Config
	logs    string // where metrics.jsonl is
	server  remote.Server
	trainer *gem.Trainer
}

// run trains, and tells the user how it ended.
func (g *gemRun) run(ctx context.Context) error {
	ctx, done := remote.WhileReachable(ctx, g.site.Stop, g.server)
	defer done()
	out, dir := g.site.Out, g.folder.Path
	g.site.Busy.With("")
	err := g.trainer.Run(ctx, g.site.Stop)
	g.site.Busy.With("")
	switch {
	case err != nil && errors.Is(context.Cause(ctx), remote.ErrUnreachable):
		fmt.Fprintf(out, "stopped in the middle: %s; resume=%s continues after the last complete step\n",
			foreign.Text(context.Cause(ctx).Error()), dir)
		return ErrInterrupted
	case errors.Is(err, trainer.ErrInterrupted):
		fmt.Fprintf(out, "stopped after %d steps and saved; resume=%s continues from there\n", g.trainer.Step(), dir)
		return ErrInterrupted
	case err != nil:
		return err
	}
	fmt.Fprintf(out, "done: %d steps; metrics.jsonl is in %s, checkpoints.jsonl in %s\n", g.trainer.Step(), g.logs, dir)
	return nil
}

// openGem makes all parts. What is opened is added to closers, on an error too.
func openGem(ctx context.Context, pairs []string, o Options, closers *site.Closers) (*gemRun, error) {
	c, backend, dir, err := configureGem(pairs, o)
	if err != nil {
		return nil, err
	}
	cfg := gemConfig(&c)
	cfg.Fleet.Listen = o.Fleet
	g := &gemRun{c: c, setting: newSetting(cfg, backend, o, dir, closers)}
	return g, g.open(ctx, o, dir)
}

// configureGem reads the pairs, on top of the keys of the run to continue: dir, "" for a new run.
func configureGem(pairs []string, o Options) (c gem.Config, backend config.Backend, dir string, err error) {
	c = gem.Default()
	if err = c.SetAll(pairs); err != nil {
		return c, backend, "", err
	}
	note := ""
	if backend, note, err = chooseForGem(&c, o); err != nil {
		return c, backend, "", err
	}
	if dir, err = found(&c, o); err == nil && dir != "" {
		if c, err = gem.Continue(dir, pairs); err == nil {
			backend, note, err = chooseForGem(&c, o)
		}
	}
	if err != nil {
		return c, backend, "", err
	}
	fmt.Fprintln(o.Out, backend.Reason+note)
	if err := wholePrompts(&c); err != nil {
		return c, backend, "", err
	}
	return c, backend, dir, c.Validate()
}

// gemConfig is what the parts of a run read of a configuration.
func gemConfig(c *gem.Config) *config.Config {
	cfg := config.Default()
	cfg.Seed, cfg.Model.ModelPath = &c.Seed, c.ModelName
	cfg.Model.Tinker.Enable, cfg.Model.Tinker.Rank, cfg.Model.Tinker.BaseURL = true, c.LoRARank, c.BaseURL
	return cfg
}

// chooseForGem decides where a run trains, by the rules of config.ChooseBackend, and which model plays there. The note
// is for the user.
func chooseForGem(c *gem.Config, o Options) (b config.Backend, note string, err error) {
	words := strings.NewReplacer("model.tinker.base_url: local", "base_url=local", "base_url: local", "base_url=local",
		"model.tinker.base_url", "base_url", "model.tinker.rank", "lora_rank")
	b, err = config.ChooseBackend(gemConfig(c), o.LookupEnv)
	if err != nil {
		return b, "", errors.New(words.Replace(err.Error()))
	}
	b.Reason = words.Replace(b.Reason)
	if st, err := os.Stat(c.ModelName); b.Kind == config.Local && c.ModelName == gem.DefaultModel &&
		(err != nil || !st.IsDir()) {
		c.ModelName = shippedModel
		note = fmt.Sprintf("\nno model is named, so the shipped one plays: %s; model_name=FOLDER names another",
			shippedModel)
	}
	return b, note, nil
}

// found is the folder of the run that resume names, "" for a new one.
func found(c *gem.Config, o Options) (string, error) {
	switch dir := c.Resume; {
	case dir == "":
		return "", nil
	case dir == "latest":
		if dir = gem.Latest(c); dir == "" {
			fmt.Fprintf(o.Out, "note: there is no run of %s in %s to resume; a new one begins\n", c.Title(),
				c.OutputDir)
		}
		return dir, nil
	case !gem.Begun(dir):
		return "", fmt.Errorf("run: resume=%s: there is no run in that folder; give latest, or the folder of a run",
			dir)
	default:
		return dir, nil
	}
}

// open makes the parts from the model up. dir is the run to continue, "" for a new one.
func (g *gemRun) open(ctx context.Context, o Options, dir string) error {
	find := service.Finder{Site: g.site, Config: g.cfg, Backend: g.backend, Gem: true}
	o.player = playerOf(&g.c, func() (*base.Model, error) { return find.Model(ctx, nil) })
	registry, err := OpenEnvironments(ctx, o, g.c.DataDir, g.c.EnvID)
	if err != nil {
		return err
	}
	g.opened(registry.Close)
	if _, err := registry.Make(g.c.EnvID, nil); err != nil {
		return err
	}
	spec, err := registry.Spec(g.c.EnvID)
	if err != nil {
		return err
	}
	if err := spec.CheckSeed(g.c.StrictSeed); err != nil {
		return err
	}
	m, err := find.Model(ctx, nil)
	if err != nil {
		return err
	}
	tools := g.toolbox(func(note string) { fmt.Fprintln(g.site.Out, "note:", foreign.Text(note)) })
	if err := CheckGemWrappers(&g.c, tools); err != nil { // before anything is written
		return err
	}
	if _, err := tools.Wrappers(ctx, g.c.ToolSpec()); err != nil {
		return err
	}
	if err := g.makeDir(ctx, dir); err != nil {
		return err
	}
	notes := notesOf(g.setting, m)
	notes.Temperature, notes.TopP, notes.TopK = g.c.Temperature, 1, -1
	if err := errors.Join(g.folder.KeepNotes(notes), m.UseOwnTemplate(g.id.Date)); err != nil {
		return err
	}
	registry.logTo(g.folder.Path)
	create, err := maker(ctx, registry.Registry, g.c.EnvID, &g.c, m, tools)
	if err != nil {
		return err
	}
	x, err := openPlayed(ctx, g.setting, o, m)
	if err != nil {
		return err
	}
	g.server = x.service.Server
	g.trainer, err = gem.New(gem.Options{
		Config: g.c, Dir: g.folder.Path, LogDir: g.logs, Record: g.record(), FS: g.site.FS, Make: create,
		Unsteady: spec.Unsteady,
		Service:  x.service.API, Create: service.CreateRequest(g.cfg, g.id, m.Name, x.service.Durable),
		Durable: x.service.Durable, Tokens: m.Tokenizer, Context: x.context,
		Out: g.site.Out, Busy: g.site.Busy,
		Color: g.site.Terminal && !isSet(g.site.LookupEnv, "NO_COLOR"), Now: g.site.Now,
	})
	return err
}

// openPlayed opens the service of the model that plays.
func openPlayed(ctx context.Context, set setting, o Options, m *base.Model) (x models, err error) {
	x.base = m
	progress, err := set.progress()
	if err != nil {
		return x, err
	}
	if x.service, err = openService(ctx, set, o, x, progress); err != nil {
		return x, err
	}
	x.context, err = service.Context(ctx, x.service.API, m.Name, algorithm.Needs{}, service.Teacher{})
	return x, err
}

func isSet(lookup func(string) (string, bool), name string) bool {
	v, _ := lookup(name)
	return v != ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// CheckGemWrappers refuses unknown wrappers and tools that cannot be used, without opening any. Whether the model has a
// template is checked later.
func CheckGemWrappers(c *gem.Config, tools env.Toolbox) error {
	known, err := tools.Names(c.ToolSpec())
	if err != nil {
		return err
	}
	_, err = env.Wrappers(c.ToolSpec().Names(), (*chat.Template)(nil), known)
	return err
}

// makeDir makes the save path: output_dir, and in it the title with the time, as the seed names it.
func (g *gemRun) makeDir(ctx context.Context, dir string) error {
	c := &g.c
	if dir == "" {
		first := filepath.Join(c.OutputDir, c.Title()+"_"+g.site.Now().Format("0102T15:04:05"))
		dir = first
		for n := 2; exists(dir); n++ {
			dir = fmt.Sprintf("%s-%d", first, n)
		}
	}
	g.folder.Path = dir
	if err := disk.MkdirAll(g.site.FS, dir); err != nil {
		return fmt.Errorf("run: save path: %w", err)
	}
	if err := g.lock(ctx, jobdir.Trainer); err != nil {
		return err
	}
	if g.logs = dir; c.LogDir != "" {
		g.logs = filepath.Join(c.LogDir, filepath.Base(dir))
	}
	if err := g.identify(); err != nil {
		return err
	}
	fmt.Fprintf(g.site.Out, "save path %s\n", dir)
	if c.Metrics {
		fmt.Fprintf(g.site.Out, "metrics go to %s\n", filepath.Join(g.logs, "metrics.jsonl"))
		if c.WandbProject != "" {
			fmt.Fprintf(g.site.Out, "wandb: kept offline; send it with: wandb sync %s\n",
				filepath.Join(g.logs, "monitor", "wandb", "*", "offline-run-*"))
		}
	}
	return g.c.Write(g.site.FS, dir)
}

// record is what is recorded beside metrics.jsonl.
func (g *gemRun) record() monitor.Config {
	c := monitor.Config{Project: g.c.WandbProject, Name: filepath.Base(g.folder.Path),
		LookupEnv: g.site.LookupEnv, Settings: map[string]any{}}
	kind := "tensorboard"
	if c.Project != "" {
		kind = "wandb"
	}
	c.Open = sink.Service(kind)
	for _, k := range g.c.Keys() {
		c.Settings[k.Name] = k.Value
	}
	c.Warn = func(text string) { fmt.Fprintln(g.site.Out, foreign.Text(text)) }
	return c
}
