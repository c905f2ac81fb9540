package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// shippedModel is the model that plays when the local engine is to play and no model is named.
const shippedModel = "examples/tiny/guess/model"

// Environments is the registry of all environments. Those that draw from words, clues or an encyclopedia find them in
// the folder data, see game.Load; what is not there, and all of it if data is "", is what the program carries.
func Environments(data string) (*env.Registry, error) {
	words, err := game.Shipped()
	if data != "" {
		if st, serr := os.Stat(data); serr != nil || !st.IsDir() {
			return nil, fmt.Errorf("run: the data folder %s is not there; name a folder with en-basic, en, "+
				"words_clues.jsonl or wiki.jsonl, or none", data)
		}
		words, err = game.Load(os.DirFS(data))
	}
	if err != nil {
		return nil, err
	}
	return env.NewRegistry(game.Table(words))
}

// Gem trains a model on an environment: the command trinity gem. pairs are key=value, the later over the earlier.
func Gem(ctx context.Context, pairs []string, o Options) error {
	o = o.withDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := watchStop(ctx, o.Stop, func() { cancel(ErrInterrupted) })
	g, err := openGem(ctx, pairs, o)
	release()
	if err != nil {
		return err
	}
	ctx, done := remote.WhileReachable(ctx, g.Stop, g.remote)
	defer done()
	err = g.trainer.Run(ctx, o.Stop)
	if err != nil && errors.Is(context.Cause(ctx), remote.ErrUnreachable) {
		fmt.Fprintf(o.Out, "stopped in the middle: %v; resume=%s goes on behind the last whole step\n",
			context.Cause(ctx), g.dir)
		err = ErrInterrupted
	}
	if errors.Is(err, trainer.ErrInterrupted) {
		fmt.Fprintf(o.Out, "stopped after %d steps and saved; resume=%s goes on from there\n", g.trainer.Step(), g.dir)
		err = ErrInterrupted
	}
	if err == nil {
		fmt.Fprintf(o.Out, "done: %d steps; metrics.jsonl is in %s, checkpoints.jsonl in %s\n", g.trainer.Step(),
			g.logs, g.dir)
	}
	return errors.Join(err, g.close())
}

// gemRun is the parts of trinity gem: a job's model and service, and the loop.
type gemRun struct {
	*job
	c       gem.Config
	logs    string // where metrics.jsonl is
	trainer *gem.Trainer
}

// openGem makes all parts. On an error what was opened is closed again.
func openGem(ctx context.Context, pairs []string, o Options) (*gemRun, error) {
	c, backend, dir, err := configureGem(pairs, o)
	if err != nil {
		return nil, err
	}
	g := &gemRun{c: c, job: gemJob(&c, backend, o)}
	if err := g.open(ctx, dir); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// configureGem reads the pairs, on top of the keys of the run to go on with if there is one: dir, "" for a new run.
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
	return c, backend, dir, c.Validate()
}

// gemJob is what the parts of a job read of a configuration.
func gemJob(c *gem.Config, backend config.Backend, o Options) *job {
	cfg := config.Default()
	cfg.Seed, cfg.Model.ModelPath = &c.Seed, c.ModelName
	cfg.Model.Tinker.Enable, cfg.Model.Tinker.Rank, cfg.Model.Tinker.BaseURL = true, c.LoRARank, c.BaseURL
	return &job{Options: o, cfg: cfg, backend: backend, gem: true}
}

// chooseForGem decides where a run trains, by the rules of config.ChooseBackend, and which model plays there. The note
// is for the user.
func chooseForGem(c *gem.Config, o Options) (b config.Backend, note string, err error) {
	words := strings.NewReplacer("model.tinker.base_url: local", "base_url=local", "base_url: local", "base_url=local",
		"model.tinker.base_url", "base_url", "model.tinker.rank", "lora_rank")
	b, err = config.ChooseBackend(gemJob(c, config.Backend{}, o).cfg, o.LookupEnv)
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

// open makes the parts from the model up. dir is the run to go on with, "" for a new one.
func (g *gemRun) open(ctx context.Context, dir string) error {
	registry, err := Environments(g.c.DataDir)
	if err != nil {
		return err
	}
	if _, err := registry.Make(g.c.EnvID, nil); err != nil {
		return err
	}
	if err := g.buildModel(ctx); err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(g.model.dir)
	if err != nil {
		return err
	}
	if _, err := env.Wrappers(g.c.EnvWrappers, (*chat.Template)(nil)); err != nil { // before anything is written
		return err
	}
	if err := g.makeDir(ctx, dir); err != nil {
		return err
	}
	renderer, err := g.ownTemplate(conf, g.identity.Date)
	if err != nil {
		return err
	}
	create, err := maker(registry, g.c.EnvID, &g.c, renderer)
	if err != nil {
		return err
	}
	if err := g.buildService(ctx); err != nil {
		return err
	}
	caps, err := g.service.Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("run: what the service can do: %w", err)
	}
	g.trainer, err = gem.New(gem.Options{
		Config: g.c, Dir: g.dir, LogDir: g.logs, Record: g.record(), FS: g.fs, Make: create,
		Service: g.service, Create: g.createRequest(), Durable: g.durable(),
		Tokens: g.model.tokenizer, Context: contextOf(caps, g.model.name),
		Out: g.Out, Color: g.Terminal && !isSet(g.LookupEnv, "NO_COLOR"), Now: g.Now,
	})
	return err
}

// ownTemplate reads the model's chat template, for the wrappers that render chats. A base model has none and needs none
// here: then the result is nil.
func (b *job) ownTemplate(conf *tokenizer.Config, now time.Time) (r env.Renderer, err error) {
	if conf.ChatTemplate == "" {
		return nil, nil
	}
	b.model.template, err = chat.New(conf.ChatTemplate, conf, now)
	return b.model.template, err
}

func isSet(lookup func(string) (string, bool), name string) bool {
	v, _ := lookup(name)
	return v != ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// makeDir makes the save path: output_dir, and in it the title with the time, as the seed names it.
func (g *gemRun) makeDir(ctx context.Context, dir string) error {
	c := &g.c
	if g.dir = dir; dir == "" {
		base := filepath.Join(c.OutputDir, c.Title()+"_"+g.Now().Format("0102T15:04:05"))
		g.dir = base
		for n := 2; exists(g.dir); n++ {
			g.dir = fmt.Sprintf("%s-%d", base, n)
		}
	}
	if err := g.fs.MkdirAll(g.dir); err != nil {
		return fmt.Errorf("run: save path: %w", err)
	}
	if err := g.lock(ctx, jobdir.Trainer); err != nil {
		return err
	}
	if g.logs = g.dir; c.LogDir != "" {
		g.logs = filepath.Join(c.LogDir, filepath.Base(g.dir))
	}
	if err := g.openIdentity(); err != nil {
		return err
	}
	fmt.Fprintf(g.Out, "save path %s\n", g.dir)
	if c.Metrics {
		fmt.Fprintf(g.Out, "metrics go to %s\n", filepath.Join(g.logs, "metrics.jsonl"))
		if c.WandbProject != "" {
			fmt.Fprintf(g.Out, "wandb: kept offline; send it with: wandb sync %s\n",
				filepath.Join(g.logs, "monitor", "wandb", "*", "offline-run-*"))
		}
	}
	return g.c.Write(g.fs, g.dir)
}

// record is what is recorded beside metrics.jsonl.
func (g *gemRun) record() monitor.Config {
	c := monitor.Config{Type: "tensorboard", Project: g.c.WandbProject, Name: filepath.Base(g.dir),
		LookupEnv: g.LookupEnv, Settings: map[string]any{}}
	if c.Project != "" {
		c.Type = "wandb"
	}
	for _, k := range g.c.Keys() {
		c.Settings[k.Name] = k.Value
	}
	c.Warn = func(text string) { fmt.Fprintln(g.Out, text) }
	return c
}
