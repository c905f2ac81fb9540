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
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// debugTable is the table of experiences.db that Debug writes, by upstream's name.
const debugTable = "debug_buffer"

// Debug runs the first task of a configuration's first taskset once with the model as it is, shows all that was said,
// measured and rewarded, and keeps the experiences in dir/experiences.db. It trains nothing and leaves the job alone.
func Debug(ctx context.Context, cfg *config.Config, o Options, dir string) (err error) {
	root := job.New(cfg, o)
	root.SayBusy(ctx)
	defer func() { err = errors.Join(err, root.Close()) }()
	root.Site.Show(root.Out)
	if err := openOutside(ctx, root, namedIn(root)); err != nil {
		return err
	}
	ctx, cancel := root.WhileWanted(ctx)
	defer cancel()
	backend, err := config.ChooseBackend(cfg, root.LookupEnv)
	if err != nil {
		return err
	}
	fmt.Fprintln(root.Out, backend.Reason)
	if len(cfg.Buffer.ExplorerInput.Training()) == 0 {
		return errors.New("run: there is no taskset to take a task from; set buffer.explorer_input.taskset")
	}
	j := root.For(cfg, backend, dir)
	defer func() { err = errors.Join(err, j.Close()) }()
	if j.Method, err = plan.Method(cfg, j.Plugins.Tables()); err != nil {
		return err
	}
	if err := openModels(ctx, j, nil); err != nil {
		return err
	}
	if _, _, err := openRollouts(j); err != nil {
		return err
	}
	return debugTask(ctx, j)
}

// debugTask runs the first task.
func debugTask(ctx context.Context, j *job.Job) error {
	set, _, _, err := data.TrainTasksets(ctx, j)
	if err != nil {
		return err
	}
	list, err := set.Tasks.Batch(1, j.Config.Buffer.BatchSize)
	if err != nil {
		return err
	}
	task := list[0]
	w, r := set.Way(task)
	r.Sampler, err = j.API.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: j.Model.Name})
	if err != nil {
		return err
	}
	seed := j.ID.Stream("debug")
	task.Batch, task.ID, task.Repeat, task.Seed = "debug", "0", j.Config.Algorithm.RepeatTimes, seed.Uint64()
	begin := j.Now()
	j.Busy.With("running the task")
	experiences, err := w.Run(ctx, &r, task)
	if err != nil {
		showFailure(j.Out, err)
		return fmt.Errorf("run: the workflow failed: %w", err)
	}
	show(j.Out, task.Index, task.Truth, experiences, j.Now().Sub(begin))
	return keepDebug(ctx, j.Out, j.Dir.Path, experiences)
}

// show prints a task and its experiences for a person.
func show(out io.Writer, row int, truth string, list []*experience.Experience, took time.Duration) {
	fmt.Fprintf(out, "task     row %d, %d experiences in %v\n", row, len(list), took.Round(time.Millisecond))
	if truth != "" {
		fmt.Fprintf(out, "truth    %s\n", oneLine(truth))
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
	var f interface {
		error
		Transcript() (said []string, traceback string)
	}
	if !errors.As(err, &f) {
		return
	}
	said, traceback := f.Transcript()
	for i, text := range said {
		what := "prompt"
		if i%2 == 1 {
			what = "answer"
		}
		fmt.Fprintf(out, "\n%s\n%s\n", what, inspect.Indent(text))
	}
	if traceback != "" {
		fmt.Fprintf(out, "\n%s\n", foreign.Plain(traceback))
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
