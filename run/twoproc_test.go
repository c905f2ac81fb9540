package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// tiny is a run of two steps in a fraction of a second.
var tiny = []string{"seed=5", "buffer.batch_size=2", "algorithm.repeat_times=2", "buffer.total_steps=3",
	"trainer.total_steps=3", "model.tinker.rank=4",
	"model.max_response_tokens=8", "trainer.save_interval=1", "explorer.eval_on_startup=false",
	"buffer.explorer_input.eval_tasksets=[]", "explorer.eval_interval=100"}

func and(base []string, more ...string) []string {
	return append(append([]string(nil), base...), more...)
}

// asTrainer and asExplorer are the two halves of a run.
var (
	asTrainer  = []string{"mode=train", "buffer.train_batch_size=4"}
	asExplorer = []string{"mode=explore"}
)

// apart runs explorer and trainer as two processes would, and returns the trainer's lines.
func apart(t testing.TB, dir string, o Options, overrides ...string) ([]monitor.Line, error) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	var lines []monitor.Line
	g.Go(func() error {
		sum, err := Run(ctx, load(t, dir, and(overrides, asTrainer...)...), o)
		if err == nil {
			lines = timeless(sum.Lines)
		}
		return err
	})
	g.Go(func() error {
		_, err := Run(ctx, load(t, dir, and(overrides, asExplorer...)...), o)
		return err
	})
	return lines, g.Wait()
}

// only keeps the metrics that begin with one of the prefixes.
func only(lines []monitor.Line, prefixes ...string) []monitor.Line {
	for _, l := range lines {
		for key := range l.Metrics {
			keep := false
			for _, p := range prefixes {
				keep = keep || strings.HasPrefix(key, p)
			}
			if !keep {
				delete(l.Metrics, key)
			}
		}
	}
	return lines
}

// Explorer and trainer as two processes train to the same bits as in one, and so does one process with a table in
// between.
func TestTwoProcessesGiveTheSameBits(t *testing.T) {
	t.Parallel()
	for _, sync := range [][]string{nil, {"synchronizer.sync_interval=2", "synchronizer.sync_offset=1"},
		{"synchronizer.sync_style=fully_async"}} {
		base := and(tiny, sync...)
		trained := []string{"actor/", "critic/", "sample/", "response_length/"}
		want := only(runs(t, load(t, t.TempDir(), base...), options()), trained...)
		if len(want) != 3 || len(want[2].Metrics) < 10 {
			t.Fatalf("the run in one process has %d lines", len(want))
		}
		got, err := apart(t, t.TempDir(), options(), base...)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("apart ", sync), only(got, trained...), want)
		one := runs(t, load(t, t.TempDir(), and(base, "buffer.trainer_input.experience_buffer={storage_type: sql}")...),
			options())
		same(t, fmt.Sprint("with a table ", sync), only(one, trained...), want)
	}
}

// Two processes that share a table of a Postgres server train to the same bits as one, on tasks that lie in the server
// too.
func TestPostgres(t *testing.T) {
	t.Parallel()
	postgres := os.Getenv("TRINITY_TEST_POSTGRES")
	if postgres == "" {
		t.Skip("needs a server: make bench NAME=postgres")
	}
	url, file := tables(t, "questions", "task")
	set := func(storage, path string) []string {
		return and(tiny, "buffer.explorer_input.taskset={name: questions, storage_type: "+storage+", path: \""+path+
			"\", default_workflow_type: math_workflow, format: {prompt_key: question, response_key: answer}}")
	}
	db, err := pgx.Connect(t.Context(), postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	if _, err := db.Exec(t.Context(),
		`CREATE TABLE questions (id SERIAL PRIMARY KEY, raw_task JSON NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	rows, err := buffer.OpenRows(t.Context(), url, "questions", "task", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for i := range rows.Count() {
		row, err := rows.Row(i)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `INSERT INTO questions (raw_task) VALUES ($1)`, string(text)); err != nil {
			t.Fatal(err)
		}
	}
	trained := []string{"actor/", "critic/", "sample/", "response_length/"}
	want := only(runs(t, load(t, t.TempDir(), set("file", file)...), options()), trained...)
	got, err := apart(t, t.TempDir(), options(),
		and(set("sql", postgres), "buffer.trainer_input.experience_buffer={storage_type: sql, name: shared, path: \""+
			postgres+"\"}")...)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "over Postgres", only(got, trained...), want)
}

// An explorer of its own evaluates after every eval_interval steps, the last one among them: nobody else does.
func TestExplorerEvaluatesItsLastStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := and(tiny, "buffer.total_steps=4", "trainer.total_steps=4", "explorer.eval_interval=2",
		"buffer.explorer_input.eval_tasksets=[{name: few, path: run/testdata/few.jsonl, default_workflow_type: "+
			"math_workflow, format: {prompt_key: question, response_key: answer}}]")
	if _, err := apart(t, dir, options(), args...); err != nil {
		t.Fatal(err)
	}
	lines, err := monitor.ReadLog(filepath.Join(dir, "trinity-tiny", "gsm8k", "metrics-explorer.jsonl"))
	if err != nil || len(lines) != 4 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for _, l := range lines {
		if _, evaluated := l.Metrics["eval/few/accuracy/mean@1"]; evaluated != (l.Step%2 == 0) {
			t.Errorf("step %d is evaluated: %v", l.Step, evaluated)
		}
	}
}

// Either process is killed at operations on the disk; both are started again, and the job ends with the same bits.
func TestTwoProcessesSurviveKills(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"fixed": tiny, "fully_async": and(tiny,
		"synchronizer.sync_style=fully_async", "explorer.max_inflight_batches=3")} {
		t.Run(name, func(t *testing.T) { t.Parallel(); halvesSurviveKills(t, args) })
	}
}

func halvesSurviveKills(t *testing.T, args []string) {
	want, err := apart(t, t.TempDir(), options(), args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, killed := range []string{"trainer", "explorer"} {
		count := &disktest.Crash{FS: disk.OS()}
		if err := oneDies(t, t.TempDir(), killed, count, args...); err != nil {
			t.Fatal(err)
		}
		for _, at := range stops(4, count.Count()) {
			dir := t.TempDir()
			crash := &disktest.Crash{FS: disk.OS(), At: at}
			err := oneDies(t, dir, killed, crash, args...)
			if err != nil && !errors.Is(err, disktest.ErrCrash) {
				t.Fatalf("%s killed at %d: %v", killed, at, err)
			}
			got, again := apart(t, dir, options(), args...)
			if again != nil {
				t.Fatalf("%s killed at %d: then %v", killed, at, again)
			}
			same(t, fmt.Sprintf("%s killed at %d", killed, at), got, want)
			if t.Failed() {
				return
			}
		}
	}
}

// oneDies runs both halves until one of them has crashed, and then stops the other.
func oneDies(t *testing.T, dir, killed string, crash disk.FS, base ...string) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 2)
	for _, half := range []string{"trainer", "explorer"} {
		o, overrides := options(), asTrainer
		if half == "explorer" {
			overrides = asExplorer
		}
		if half == killed {
			o.FS = crash
		}
		o.Out = io.Discard
		cfg := load(t, dir, and(base, overrides...)...)
		go func() {
			_, err := Run(ctx, cfg, o)
			if half == killed && err != nil {
				cancel()
			}
			if half != killed && ctx.Err() != nil {
				err = nil
			}
			result <- err
		}()
	}
	return errors.Join(<-result, <-result)
}

// In the driven styles it is written down which weights each step sampled with, and the run ends all the same.
func TestDrivenStyles(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"explorer_driven", "trainer_driven"} {
		dir := t.TempDir()
		lines := runs(t, load(t, dir, and(tiny, "synchronizer.sync_style="+style)...), options())
		log, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "log", "order.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(log, []byte(`"sampled"`)); len(lines) != 3 || n != 3 {
			t.Errorf("%s: %d lines and %d choices, want 3 and 3:\n%s", style, len(lines), n, log)
		}
		if _, err := apart(t, t.TempDir(), options(), and(tiny, "synchronizer.sync_style="+style)...); err != nil {
			t.Errorf("%s, apart: %v", style, err)
		}
	}
}

// A limit on the age of samples that the schedule cannot keep is refused; one that it can keep changes nothing.
func TestStalenessControl(t *testing.T) {
	t.Parallel()
	limit := func(n string) []string {
		return and(tiny, "algorithm.sample_strategy=staleness_control",
			"algorithm.sample_strategy_args={max_staleness: "+n+"}", "synchronizer.sync_offset=1")
	}
	_, err := Run(context.Background(), load(t, t.TempDir(), limit("0")...), options())
	if err == nil || !strings.Contains(err.Error(), "raise it to 1") {
		t.Errorf("error %v, want one that says what is possible", err)
	}
	want := runs(t, load(t, t.TempDir(), and(tiny, "synchronizer.sync_offset=1")...), options())
	same(t, "with a limit of 1", runs(t, load(t, t.TempDir(), limit("1")...), options()), want)
}

func TestExploreToAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out.jsonl")
	o := options()
	o.Out = io.Discard
	cfg := and(tiny, "mode=explore", "synchronizer.sync_offset=9",
		"buffer.trainer_input.experience_buffer={storage_type: file, path: "+out+"}")
	for range 2 { // the second start has nothing left to do
		if _, err := Run(context.Background(), load(t, dir, cfg...), o); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil || bytes.Count(text, []byte("\n")) != 12 {
			t.Fatalf("%d lines, %v; want 3 steps of 4 samples", bytes.Count(text, []byte("\n")), err)
		}
	}
}
