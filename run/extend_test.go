package run

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

var everyWay = flag.Bool("extend", false, "TestExtend: every schedule and more kills; make extend sets it")

// steps sets how long a run is planned.
func steps(n int) []string {
	return []string{fmt.Sprint("buffer.total_steps=", n), fmt.Sprint("trainer.total_steps=", n)}
}

// A runner is a way of running a job: its name, and how a call with these overrides runs in dir.
type runner struct {
	name string
	run  func(t *testing.T, dir string, overrides []string, fs disk.FS, stop string) ([]monitor.Line, error)
}

// waysToRun are the modes in which a job trains on what it samples.
func waysToRun() []runner {
	alone := func(more []string, change func(*Options, *testing.T) []string) func(*testing.T, string, []string, disk.FS, string) ([]monitor.Line, error) {
		return func(t *testing.T, dir string, overrides []string, fs disk.FS, stop string) ([]monitor.Line, error) {
			o := options()
			o.FS, o.Out = fs, io.Discard
			if stop != "" {
				s := &stopAt{stop: make(chan struct{}), text: stop}
				o.Stop, o.Out = s.stop, s
			}
			args := and(overrides, more...)
			if change != nil {
				args = append(args, change(&o, t)...)
			}
			sum, err := Run(t.Context(), load(t, dir, args...), o)
			if err != nil {
				return nil, err
			}
			return timeless(sum.Lines), nil
		}
	}
	var servers = map[string]string{} // one server for each job
	return []runner{
		{"both", alone(nil, nil)},
		{"both, on a service without models", alone(nil, func(o *Options, _ *testing.T) []string { o.fleeting = forgets; return nil })},
		{"both, over HTTP", alone(nil, func(o *Options, t *testing.T) []string {
			o.LookupEnv = withKey
			if servers[t.Name()] == "" {
				servers[t.Name()] = serve(t)
			}
			return []string{"model.tinker.base_url=" + servers[t.Name()]}
		})},
		{"both, through a table", alone([]string{"buffer.trainer_input.experience_buffer={storage_type: sql}"}, nil)},
		{"explore and train", func(t *testing.T, dir string, overrides []string, fs disk.FS, stop string) ([]monitor.Line, error) {
			if stop != "" {
				return nil, nil // of two processes one is killed instead
			}
			if fs != nil {
				return nil, oneDies(t, dir, "trainer", fs, overrides...)
			}
			return apart(t, dir, options(), overrides...)
		}},
	}
}

// A finished job that is planned longer goes on to the bits of one that was planned that long, whatever the schedule of weights, the mode, and
// where it stopped, and so does one that was interrupted or killed in between.
func TestExtend(t *testing.T) {
	for _, w := range waysToRun() {
		for _, schedule := range []struct{ interval, offset int }{{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {3, 1}} {
			if !*everyWay && (schedule.offset != 1 || schedule.interval == 3) {
				continue
			}
			t.Run(fmt.Sprintf("%s, interval %d, offset %d", w.name, schedule.interval, schedule.offset), func(t *testing.T) {
				args := and(tiny, "trainer.save_interval=2", fmt.Sprint("synchronizer.sync_interval=", schedule.interval), fmt.Sprint("synchronizer.sync_offset=", schedule.offset),
					"synchronizer.sync_timeout=20")
				trained := []string{"actor/", "critic/", "sample/", "response_length/"}
				want, err := w.run(t, t.TempDir(), and(args, steps(5)...), nil, "")
				if err != nil {
					t.Fatal(err)
				}
				want = only(want, trained...)
				for _, plan := range [][]int{{2, 5}, {3, 4, 5}} {
					dir := t.TempDir()
					var got []monitor.Line
					for _, n := range plan {
						if got, err = w.run(t, dir, and(args, steps(n)...), nil, ""); err != nil {
							t.Fatalf("%v, planned for %d: %v", plan, n, err)
						}
					}
					same(t, fmt.Sprint("planned for ", plan), only(got, trained...), want)
				}
			})
		}
	}
}

// An extended job survives being interrupted and killed.
func TestExtendSurvives(t *testing.T) {
	args := and(tiny, "trainer.save_interval=2", "synchronizer.sync_offset=1", "synchronizer.sync_timeout=20")
	trained := []string{"actor/", "critic/", "sample/", "response_length/"}
	for _, w := range waysToRun() {
		t.Run(w.name, func(t *testing.T) {
			want, err := w.run(t, t.TempDir(), and(args, steps(5)...), nil, "")
			if err != nil {
				t.Fatal(err)
			}
			want = only(want, trained...)
			kills := []int{19}
			if *everyWay {
				kills = []int{7, 19, 37, 61, 97, 151}
			}
			for _, at := range kills {
				dir := t.TempDir()
				if _, err := w.run(t, dir, and(args, steps(2)...), nil, ""); err != nil {
					t.Fatal(err)
				}
				if _, err := w.run(t, dir, and(args, steps(4)...), nil, "step 3/4"); err != nil && !errors.Is(err, ErrInterrupted) {
					t.Fatal(err)
				}
				if _, err := w.run(t, dir, and(args, steps(4)...), &disk.Crash{FS: disk.OS(), At: at}, ""); err != nil && !errors.Is(err, disk.ErrCrash) {
					t.Fatalf("killed at operation %d: %v", at, err)
				}
				got, err := w.run(t, dir, and(args, steps(5)...), nil, "")
				if err != nil {
					t.Fatalf("killed at operation %d of the extension: then %v", at, err)
				}
				same(t, fmt.Sprint("killed at operation ", at), only(got, trained...), want)
			}
		})
	}
}

// In the driven styles, where the order of events decides, an extended job ends all the same.
func TestExtendDriven(t *testing.T) {
	for _, w := range waysToRun() {
		for _, style := range []string{"explorer_driven", "trainer_driven"} {
			for _, schedule := range [][]string{nil, {"synchronizer.sync_offset=1"}, {"synchronizer.sync_interval=2", "synchronizer.sync_offset=1"}} {
				if !*everyWay && len(schedule) != 1 {
					continue
				}
				t.Run(fmt.Sprint(w.name, ", ", style, schedule), func(t *testing.T) {
					dir, args := t.TempDir(), and(tiny, append(schedule, "synchronizer.sync_style="+style, "synchronizer.sync_timeout=20")...)
					for _, n := range []int{2, 3, 5} {
						got, err := w.run(t, dir, and(args, steps(n)...), nil, "")
						if err != nil || len(got) != n {
							t.Fatalf("planned for %d: %d lines, %v", n, len(got), err)
						}
					}
				})
			}
		}
	}
}

// By epochs a job is extended like by steps.
func TestExtendByEpochs(t *testing.T) {
	epochs := func(n int) []string {
		return and(tiny, "buffer.total_steps=null", "trainer.total_steps=null", fmt.Sprint("buffer.total_epochs=", n), "synchronizer.sync_offset=1", "synchronizer.sync_timeout=20",
			"buffer.explorer_input.taskset={name: few, storage_type: file, path: run/testdata/few.jsonl, format: {prompt_key: question, response_key: answer}}")
	}
	want := runs(t, load(t, t.TempDir(), epochs(2)...), options())
	dir := t.TempDir()
	first := runs(t, load(t, dir, epochs(1)...), options())
	if len(first) == 0 || len(want) != 2*len(first) {
		t.Fatalf("%d steps in one epoch, %d in two", len(first), len(want))
	}
	same(t, "extended by an epoch", runs(t, load(t, dir, epochs(2)...), options()), want)
}

// A job whose weights are gone that the next step samples with says so at once.
func TestExtendWithoutTheWeights(t *testing.T) {
	dir, args := t.TempDir(), and(tiny, "synchronizer.sync_timeout=20")
	runs(t, load(t, dir, and(args, steps(2)...)...), options()) // offset 0: version 2 alone is kept
	var out bytes.Buffer
	o := options()
	o.Out = &out
	_, err := Run(t.Context(), load(t, dir, and(args, append(steps(4), "synchronizer.sync_offset=1")...)...), o)
	if err == nil || !strings.Contains(err.Error(), "explore step 3 samples with the weights of step 1") || !strings.Contains(err.Error(), "synchronizer.sync_offset=0") {
		t.Errorf("error %v, want one that names the step, the weights and the remedy", err)
	}
	if got := runs(t, load(t, dir, and(args, steps(4)...)...), options()); len(got) != 4 {
		t.Errorf("%d lines afterwards, want 4", len(got))
	}
}

// A run on examples is extended too, and says what a decaying learning rate makes of that.
func TestExtendExamples(t *testing.T) {
	sft := and(tiny, "mode=train", "algorithm.algorithm_type=sft", "buffer.train_batch_size=4",
		"buffer.trainer_input.experience_buffer={storage_type: file, path: examples/tiny/expert, format: {prompt_type: plaintext, prompt_key: question, response_key: response}}")
	dir := t.TempDir()
	runs(t, load(t, dir, and(sft, steps(2)...)...), options())
	same(t, "extended", runs(t, load(t, dir, and(sft, steps(5)...)...), options()), runs(t, load(t, t.TempDir(), and(sft, steps(5)...)...), options()))

	var out bytes.Buffer
	o := options()
	o.Out = &out
	if _, err := Run(t.Context(), load(t, dir, and(sft, append(steps(6), "algorithm.optimizer.lr_scheduler_type=cosine")...)...), o); err != nil {
		t.Fatal(err)
	}
	if want := "steps 1 to 5 are those of a run of 5 steps, and from now on those of one of 6"; !strings.Contains(out.String(), want) {
		t.Errorf("said\n%s\nwant %q", out.String(), want)
	}
}

// The last of several stages is extended; that an earlier one is not is said.
func TestExtendStages(t *testing.T) {
	staged := func(n int) []string { return and(warmed, steps(n)...) }
	read := func(dir string) []monitor.Line {
		l, err := monitor.ReadLog(filepath.Join(dir, "trinity-tiny", "gsm8k", "rft", "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return timeless(l)
	}
	for _, offset := range []string{"0", "1"} {
		behind := "synchronizer.sync_offset=" + offset
		dir, whole := t.TempDir(), t.TempDir()
		runs(t, load(t, dir, append(staged(2), behind)...), options())
		runs(t, load(t, dir, append(staged(4), behind)...), options())
		runs(t, load(t, whole, append(staged(4), behind)...), options())
		same(t, "the last stage, offset "+offset, read(dir), read(whole))
	}
	dir := t.TempDir()
	runs(t, load(t, dir, staged(2)...), options())
	var out bytes.Buffer
	o := options()
	o.Out = &out
	longer := staged(3)
	for i, a := range longer {
		longer[i] = strings.Replace(a, "trainer: {total_steps: 2}", "trainer: {total_steps: 3}", 1)
	}
	if _, err := Run(t.Context(), load(t, dir, longer...), o); err != nil {
		t.Fatal(err)
	}
	if want := "stage warmup ended with step 2 and is not continued to step 3"; !strings.Contains(out.String(), want) {
		t.Errorf("said\n%s\nwant %q", out.String(), want)
	}
}

// A job is refused another model or adapter than it has, by key and by both values; a complete one says what to raise.
func TestResumeSaysWhatChanged(t *testing.T) {
	dir := t.TempDir()
	runs(t, load(t, dir, and(tiny, steps(2)...)...), options())
	for _, c := range []struct{ override, want string }{
		{"model.tinker.rank=8", "begun with model.tinker.rank 4 and the configuration now says 8; set the old value"},
		{"model.model_path=examples/llama/model", "begun with model.model_path examples/tiny/model and the configuration now says examples/llama/model"},
		{"model.tinker.train_mlp=false", "train_mlp"},
	} {
		_, err := Run(t.Context(), load(t, dir, and(tiny, append(steps(3), c.override)...)...), options())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.override, err, c.want)
		}
	}
	for _, c := range []struct {
		overrides []string
		want      string
	}{
		{steps(2), "nothing left to do: all 2 steps are trained; raise buffer.total_steps and trainer.total_steps to go on"},
		{[]string{"trainer.total_steps=2"}, "raise trainer.total_steps to go on"},
		{[]string{"buffer.total_steps=2"}, "raise buffer.total_steps to go on"},
	} {
		var out bytes.Buffer
		o := options()
		o.Out = &out
		if _, err := Run(t.Context(), load(t, dir, and(tiny, c.overrides...)...), o); err != nil || !strings.Contains(out.String(), c.want) {
			t.Errorf("%v: %v, said\n%s\nwant %q", c.overrides, err, out.String(), c.want)
		}
	}
}

// The GEM trainer's jobs are extended to the bits of longer ones.
func TestExtendGem(t *testing.T) {
	root, whole := t.TempDir(), t.TempDir()
	o := options()
	o.Now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
	gemRuns(t, o, short(root, "max_steps=2", "eval_every=0"))
	_, got := gemRuns(t, o, short(root, "max_steps=4", "eval_every=0", "resume=latest"))
	_, want := gemRuns(t, o, short(whole, "max_steps=4", "eval_every=0"))
	same(t, "extended", got, want)
}
