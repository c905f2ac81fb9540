package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/sink"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
)

// Gem trains a model on an environment: the command trinity gem. pairs are key=value, the later over the earlier.
func Gem(ctx context.Context, pairs []string, o Options) (err error) {
	g := &gemRun{Job: job.New(config.Default(), o)}
	g.SayBusy(ctx)
	defer func() { err = errors.Join(err, g.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := context.AfterFunc(g.Stopping(), func() { cancel(ErrInterrupted) })
	err = g.open(ctx, pairs)
	if !release() {
		<-ctx.Done()
	}
	if err != nil {
		return err
	}
	return g.run(ctx)
}

// gemRun is a run of trinity gem.
type gemRun struct {
	*job.Job
	c       gem.Config
	logs    string // where metrics.jsonl is
	trainer *gem.Trainer
}

// run trains, and tells the user how it ended.
func (g *gemRun) run(ctx context.Context) error {
	ctx, done := g.WhileReachable(ctx)
	defer done()
	out, dir := g.Out, g.Dir.Path
	g.Busy.With("")
	err := g.trainer.Run(ctx, g.Stopping())
	g.Busy.With("")
	switch {
	case err != nil && errors.Is(context.Cause(ctx), job.ErrUnreachable):
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

// configureGem reads the pairs, on top of the keys of the run to continue: dir, "" for a new run. The job gets what
// parts of a run read of a configuration.
func configureGem(j *job.Job, pairs []string) (c gem.Config, dir string, err error) {
	c = gem.Default()
	if err = c.SetAll(pairs); err != nil {
		return c, "", err
	}
	note := ""
	if note, err = chooseForGem(j, &c); err != nil {
		return c, "", err
	}
	if dir, err = found(j, &c); err == nil && dir != "" {
		if c, err = gem.Continue(dir, pairs); err == nil {
			note, err = chooseForGem(j, &c)
		}
	}
	if err != nil {
		return c, "", err
	}
	fmt.Fprintln(j.Out, j.Backend.Reason+note)
	if err := wholePrompts(&c); err != nil {
		return c, "", err
	}
	return c, dir, c.Validate()
}

// shippedModel is the model that plays when the local engine is to play and no model is named.
const shippedModel = "examples/tiny/guess/model"

// chooseForGem decides where a run trains, by the rules of config.ChooseBackend, and which model plays there. The note
// is for the user.
func chooseForGem(j *job.Job, c *gem.Config) (note string, err error) {
	j.Gem, j.Config = true, gemConfig(c)
	j.Config.Fleet.Listen = j.Fleet
	j.Backend, err = config.ChooseBackendAs(j.Config, j.LookupEnv, nameForGem)
	if err != nil {
		return "", err
	}
	if st, err := os.Stat(c.ModelName); j.Local() && c.ModelName == gem.DefaultModel && (err != nil || !st.IsDir()) {
		c.ModelName, j.Config.Model.ModelPath = shippedModel, shippedModel
		note = fmt.Sprintf("\nno model is named, so the shipped one plays: %s; model_name=FOLDER names another",
			shippedModel)
	}
	return note, nil
}

// found is the folder of the run that resume names, "" for a new one.
func found(j *job.Job, c *gem.Config) (string, error) {
	switch dir := c.Resume; {
	case dir == "":
		return "", nil
	case dir == "latest":
		if dir = gem.Latest(c); dir == "" {
			fmt.Fprintf(j.Out, "note: there is no run of %s in %s to resume; a new one begins\n", c.Title(),
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

// open opens the parts from the model up.
func (g *gemRun) open(ctx context.Context, pairs []string) error {
	var dir string
	var err error
	if g.c, dir, err = configureGem(g.Job, pairs); err != nil {
		return err
	}
	g.Dir = jobdir.Of(g.Config, g.FS, dir)
	model := func() (*job.Model, error) { return service.FindModel(ctx, g.Job, nil) }
	registry, err := openEnvironments(ctx, g.Job, g.c.DataDir, playerOf(g.Job, &g.c, model), g.c.EnvID)
	if err != nil {
		return err
	}
	spec, err := g.checkEnvironment(registry)
	if err != nil {
		return err
	}
	if g.Model, err = model(); err != nil {
		return err
	}
	if err := g.c.CheckTools(g.Outside.Tools); err != nil { // before anything is written
		return err
	}
	if _, err := g.Outside.Tools.Wrappers(ctx, g.c.ToolSpec()); err != nil {
		return err
	}
	if err := g.makeDir(ctx, dir); err != nil {
		return err
	}
	notes := g.ModelNotes()
	notes.Temperature, notes.TopP, notes.TopK = g.c.Temperature, 1, -1
	if err := errors.Join(g.Dir.KeepNotes(notes), g.Model.UseOwnTemplate(g.ID.Date)); err != nil {
		return err
	}
	g.Site.In(g.Job, "info")
	create, err := maker(ctx, g.Job, registry, g.c.EnvID, &g.c)
	if err != nil {
		return err
	}
	if err := g.OpenProgress(); err != nil {
		return err
	}
	if err := service.Open(ctx, g.Job); err != nil {
		return err
	}
	if g.Context, err = service.Context(ctx, g.Job); err != nil {
		return err
	}
	g.trainer, err = gem.New(gem.Options{
		Config: g.c, Dir: g.Dir.Path, LogDir: g.logs, Record: g.record(), FS: g.FS, Make: create,
		Unsteady: spec.Unsteady, Service: g.API, Create: service.CreateRequest(g.Job), Durable: g.Durable,
		Tokens: g.Model.Tokenizer, Context: g.Context, Out: g.Out, Busy: g.Busy,
		Color: g.Terminal && !isSet(g.LookupEnv, "NO_COLOR"), Now: g.Now,
	})
	return err
}

// checkEnvironment refuses an environment that cannot be made or does not do what the keys ask of it.
func (g *gemRun) checkEnvironment(registry *env.Registry) (env.Spec, error) {
	if _, err := registry.Make(g.c.EnvID, nil); err != nil {
		return env.Spec{}, err
	}
	spec, err := registry.Spec(g.c.EnvID)
	if err != nil {
		return spec, err
	}
	return spec, spec.CheckSeed(g.c.StrictSeed)
}

func isSet(lookup func(string) (string, bool), name string) bool {
	v, _ := lookup(name)
	return v != ""
}

// makeDir makes the save path: output_dir, and in it the title with the time, as the seed names it.
func (g *gemRun) makeDir(ctx context.Context, dir string) error {
	c := &g.c
	if dir == "" {
		first := filepath.Join(c.OutputDir, c.Title()+"_"+g.Now().Format("0102T15:04:05"))
		dir = first
		for n := 2; disk.Exists(dir); n++ {
			dir = fmt.Sprintf("%s-%d", first, n)
		}
	}
	g.Dir.Path = dir
	if err := disk.MkdirAll(g.FS, dir); err != nil {
		return fmt.Errorf("run: save path: %w", err)
	}
	if err := g.Lock(ctx, jobdir.Trainer); err != nil {
		return err
	}
	if g.logs = dir; c.LogDir != "" {
		g.logs = filepath.Join(c.LogDir, filepath.Base(dir))
	}
	if err := g.Identify(); err != nil {
		return err
	}
	fmt.Fprintf(g.Out, "save path %s\n", dir)
	if c.Metrics {
		fmt.Fprintf(g.Out, "metrics go to %s\n", filepath.Join(g.logs, "metrics.jsonl"))
		if c.WandbProject != "" {
			fmt.Fprintf(g.Out, "wandb: kept offline; send it with: wandb sync %s\n",
				filepath.Join(g.logs, "monitor", "wandb", "*", "offline-run-*"))
		}
	}
	return g.c.Write(g.FS, dir)
}

// record says what is recorded beside metrics.jsonl.
func (g *gemRun) record() monitor.Config {
	c := monitor.Config{Project: g.c.WandbProject, Name: filepath.Base(g.Dir.Path),
		LookupEnv: g.LookupEnv, Settings: map[string]any{}}
	kind := "tensorboard"
	if c.Project != "" {
		kind = "wandb"
	}
	c.Open = sink.Service(kind)
	for _, k := range g.c.Keys() {
		c.Settings[k.Name] = k.Value
	}
	c.Warn = func(text string) { fmt.Fprintln(g.Out, foreign.Text(text)) }
	return c
}
