// Command bench-loop measures what the loops add to network and service, over a distant server that computes next to
// nothing: start, steps, memory, steps with a reward function in Python, and explore steps that overlap. A bound that
// is exceeded is an error. If -python has tinker-cookbook, as the program cookbook installs it, its loop is measured
// too.
//
// Needs: nothing; python3 for the part reward
// Takes: thirteen minutes
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// parts lists what can be measured.
var parts = []string{"start", "step", "memory", "reward", "overlap"}

func main() {
	b := &bench{ctx: context.Background()}
	only := flag.String("only", strings.Join(parts, ","), "the parts to measure, separated by commas")
	flag.StringVar(&b.python, "python", "bin/recipes/venv/bin/python",
		"a Python that has tinker-cookbook; its loop is left out if there is none")
	flag.IntVar(&b.steps, "steps", 7, "steps of a run")
	flag.DurationVar(&b.most, "latency", time.Second, "the longer of the two latencies; the other is a tenth")
	program.Main("bench-loop", func(p program.Program) error {
		b.trinity = p
		return b.run(strings.Split(*only, ","))
	})
}

// bench is one measurement of all parts.
type bench struct {
	ctx     context.Context
	trinity program.Program
	python  string
	steps   int
	most    time.Duration // latency
	made    int           // folders
}

func (b *bench) run(only []string) error {
	for _, part := range only {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("there is no part %q; choose from %q", part, parts)
		}
	}
	if _, err := os.Stat(b.python); err != nil {
		b.python = ""
	}
	var failed error
	for i, part := range []func() error{b.start, b.step, b.memory, b.reward, b.overlap} {
		if slices.Contains(only, parts[i]) {
			failed = errors.Join(failed, part())
		}
	}
	return failed
}

// The models of the far server.
const (
	tiny  = "examples/tiny/model"
	guess = "examples/tiny/guess/model"
)

// folder is a new folder.
func (b *bench) folder() string {
	b.made++
	return filepath.Join(b.trinity.Home, fmt.Sprint("dir", b.made))
}

// tooLong is the time after which a run counts as hanging.
const tooLong = 4 * time.Minute

// cost is the processor time of a run and its peak memory in bytes.
type cost struct {
	began time.Time
	cpu   time.Duration
	peak  int64
}

// measure runs a command to its end.
func measure(cmd *exec.Cmd) (cost, error) {
	began := time.Now()
	stuck := time.AfterFunc(tooLong, func() { cmd.Process.Signal(syscall.SIGQUIT) }) // shows what it waits for
	defer stuck.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out[max(0, len(out)-8000):])
	}
	s := cmd.ProcessState
	return cost{began, s.UserTime() + s.SystemTime(), peak(s)}, nil
}

// train trains some steps to the end over a far server, in a new job directory.
func (b *bench) train(f *far, steps int, config string, overrides ...string) (cost, error) {
	cmd := b.trinity.Command(slices.Concat([]string{"run", "--config", config, "model.tinker.base_url=" + f.url,
		"buffer.explorer_input.eval_tasksets=[]", "explorer.eval_on_startup=false", "explorer.eval_interval=1000",
		"trainer.save_interval=1000", fmt.Sprint("buffer.total_steps=", steps),
		fmt.Sprint("trainer.total_steps=", steps), "checkpoint_root_dir=" + b.folder()}, overrides)...)
	cmd.Dir = "" // the repository
	return measure(cmd)
}

// taskset is overrides for a taskset with the first n rows of a file, repeated if it has fewer.
func (b *bench) taskset(file string, n int) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	var text strings.Builder
	for i := range n {
		text.WriteString(lines[i%len(lines)])
	}
	dir := b.folder()
	path := filepath.Join(dir, "train.jsonl")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte(text.String()), 0o644)); err != nil {
		return nil, err
	}
	return []string{fmt.Sprint("buffer.batch_size=", n), "buffer.explorer_input.taskset.split=",
		"buffer.explorer_input.taskset.path=" + path}, nil
}
