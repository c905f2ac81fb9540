package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// debugTable is the table of experiences.db that Debug writes, by upstream's name.
const debugTable = "debug_buffer"

// Debug runs the first task of a configuration's first taskset once with the model as it is, shows all that was said,
// measured and rewarded, and keeps the experiences in dir/experiences.db. It trains nothing and leaves the job alone.
func Debug(ctx context.Context, cfg *config.Config, o Options, dir string) (err error) {
	o = o.withDefaults()
	ctx, cancel := o.whileWanted(ctx)
	defer cancel()
	backend, err := config.ChooseBackend(cfg, o.LookupEnv)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Out, backend.Reason)
	training := cfg.Buffer.ExplorerInput.Training()
	if len(training) == 0 {
		return errors.New("run: there is no taskset to take a task from; set buffer.explorer_input.taskset")
	}
	b := &job{Options: o, cfg: cfg, backend: backend, dir: dir}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.buildAlgorithm(ctx); err != nil {
		return err
	}
	if err := b.buildModels(ctx); err != nil {
		return err
	}
	set, _, _, err := b.trainTasksets(ctx)
	if err != nil {
		return err
	}
	list, err := set.Tasks.Batch(1, cfg.Buffer.BatchSize)
	if err != nil {
		return err
	}
	task := list[0]
	w, r := set.Way(task)
	r.Sampler, err = b.service.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: b.model.name})
	if err != nil {
		return err
	}
	seed := rng.New(b.identity.Seed).Stream("debug")
	task.Batch, task.ID, task.Repeat, task.Seed = "debug", "0", cfg.Algorithm.RepeatTimes, seed.Uint64()
	begin := b.Now()
	experiences, err := w.Run(ctx, &r, task)
	if err != nil {
		return fmt.Errorf("run: the workflow failed: %w", err)
	}
	b.show(task, experiences, b.Now().Sub(begin))
	return b.keepDebug(ctx, experiences)
}

// show prints a task and its experiences for a person.
func (b *job) show(t workflow.Task, list []*experience.Experience, took time.Duration) {
	fmt.Fprintf(b.Out, "task     row %d, %d experiences in %v\n", t.Index, len(list), took.Round(time.Millisecond))
	if t.Truth != "" {
		fmt.Fprintf(b.Out, "truth    %s\n", oneLine(t.Truth))
	}
	shown := ""
	for i, e := range list {
		if e.PromptText != shown {
			shown = e.PromptText
			fmt.Fprintf(b.Out, "\nprompt   %d tokens\n%s\n", e.PromptLength, indented(shown))
		}
		fmt.Fprintf(b.Out, "\nsample %d %d tokens (%s), reward %g", i, e.ResponseLength(), e.StopReason, e.RewardOr(0))
		for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
			fmt.Fprintf(b.Out, ", %s %g", name, e.Metrics[name])
		}
		fmt.Fprintf(b.Out, "\n%s\n", indented(e.ResponseText))
	}
}

func indented(text string) string { return "  | " + strings.ReplaceAll(text, "\n", "\n  | ") }

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ⏎ ") }

// keepDebug adds the experiences to the database, as the next step of its table.
func (b *job) keepDebug(ctx context.Context, list []*experience.Experience) error {
	path := filepath.Join(b.dir, "experiences.db")
	db, err := buffer.OpenSQL(ctx, "sqlite:///"+path, debugTable, buffer.SQLOptions{})
	if err != nil {
		return err
	}
	last, err := db.Begin(ctx, "debug")
	if err == nil {
		err = db.Put(ctx, "debug", last+1, list)
	}
	fmt.Fprintf(b.Out, "\nkept     %s, table %s\n", path, debugTable)
	return errors.Join(err, db.Close())
}
