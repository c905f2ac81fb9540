package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/plugin"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// debugTable is the table of experiences.db that Debug writes, by upstream's name.
const debugTable = "debug_buffer"

// Debug runs the first task of a configuration's first taskset once with the model as it is, shows all that was said,
// measured and rewarded, and keeps the experiences in dir/experiences.db. It trains nothing and leaves the job alone.
func Debug(ctx context.Context, cfg *config.Config, o Options, dir string) (err error) {
	o, quiet := o.withDefaults().withBusy(ctx)
	defer quiet()
	if o, err = o.withPython(ctx, cfg); err != nil {
		return err
	}
	o = o.withServers(ctx, playedIDs(cfg)...)
	defer func() { err = errors.Join(err, o.servers.Close(), o.python.Close()) }()
	o.python.show(o.Out)
	ctx, cancel := o.site().WhileWanted(ctx)
	defer cancel()
	backend, err := config.ChooseBackend(cfg, o.LookupEnv)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Out, backend.Reason)
	if len(cfg.Buffer.ExplorerInput.Training()) == 0 {
		return errors.New("run: there is no taskset to take a task from; set buffer.explorer_input.taskset")
	}
	var closers site.Closers
	defer func() { err = errors.Join(err, closers.Close()) }()
	p := parts{setting: newSetting(cfg, backend, o, dir, &closers)}
	if p.method, err = plan.Method(cfg, p.site.Own.Tables); err != nil {
		return err
	}
	p.say.notes = site.NewNotes(o.Out)
	if p.models, p.say.progress, err = openModels(ctx, &p.setting, o, p.method, nil); err != nil {
		return err
	}
	p.tools = p.toolbox(func(note string) { p.say.progress.Say("note: " + note) })
	if err := p.openOffers(); err != nil {
		return err
	}
	p.openCarriers(o.Out)
	set, _, _, err := p.data().TrainTasksets(ctx)
	if err != nil {
		return err
	}
	list, err := set.Tasks.Batch(1, cfg.Buffer.BatchSize)
	if err != nil {
		return err
	}
	task := list[0]
	w, r := set.Way(task)
	r.Sampler, err = p.models.service.API.SamplingClient(
		ctx, tinker.SamplingClientRequest{BaseModel: p.models.base.Name})
	if err != nil {
		return err
	}
	seed := rng.New(p.id.Seed).Stream("debug")
	task.Batch, task.ID, task.Repeat, task.Seed = "debug", "0", cfg.Algorithm.RepeatTimes, seed.Uint64()
	begin := o.Now()
	o.busy.With("running the task")
	experiences, err := w.Run(ctx, &r, task)
	if err != nil {
		showFailure(o.Out, err)
		return fmt.Errorf("run: the workflow failed: %w", err)
	}
	show(o.Out, task, experiences, o.Now().Sub(begin))
	return keepDebug(ctx, o.Out, dir, experiences)
}

// show prints a task and its experiences for a person.
func show(out io.Writer, t workflow.Task, list []*experience.Experience, took time.Duration) {
	fmt.Fprintf(out, "task     row %d, %d experiences in %v\n", t.Index, len(list), took.Round(time.Millisecond))
	if t.Truth != "" {
		fmt.Fprintf(out, "truth    %s\n", oneLine(t.Truth))
	}
	shown := ""
	for i, e := range list {
		if e.PromptText != shown {
			shown = e.PromptText
			fmt.Fprintf(out, "\nprompt   %d tokens\n%s\n", e.PromptLength, inspect.Indent(shown))
		}
		fmt.Fprintf(out, "\nsample %d %d tokens (%s), reward %.6g", i, e.ResponseLength(), e.StopReason, e.RewardOr(0))
		for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
			fmt.Fprintf(out, ", %s %.6g", name, e.Metrics[name])
		}
		fmt.Fprintf(out, "\n%s\n", inspect.Indent(e.ResponseText))
	}
}

// showFailure prints what was said before a workflow of Python failed, and where it did.
func showFailure(out io.Writer, err error) {
	var f *plugin.Failure
	if !errors.As(err, &f) {
		return
	}
	for i, text := range f.Said {
		what := "prompt"
		if i%2 == 1 {
			what = "answer"
		}
		fmt.Fprintf(out, "\n%s\n%s\n", what, inspect.Indent(text))
	}
	if f.Traceback != "" {
		fmt.Fprintf(out, "\n%s\n", foreign.Plain(f.Traceback))
	}
}

func oneLine(text string) string { return strings.ReplaceAll(foreign.Plain(text), "\n", " ⏎ ") }

// keepDebug adds the experiences to the database, as the next step of its table.
func keepDebug(ctx context.Context, out io.Writer, dir string, list []*experience.Experience) error {
	path := filepath.Join(dir, "experiences.db")
	db, err := buffer.OpenSQL(ctx, "sqlite:///"+path, debugTable, buffer.SQLOptions{})
	if err != nil {
		return err
	}
	last, err := db.Begin(ctx, "debug")
	if err == nil {
		err = db.Put(ctx, "debug", last+1, list)
	}
	fmt.Fprintf(out, "\nkept     %s, table %s\n", path, debugTable)
	return errors.Join(err, db.Close())
}
