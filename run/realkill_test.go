package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
)

const (
	// realKill is the step of GRPO after which the program is killed.
	realKill = 4
	// realRepeat is the number of steps that a job which is not killed repeats.
	realRepeat = 7
)

// killed runs a job with the program itself, by the command of the example, and kills it after some steps of GRPO,
// once.
func (r realRun) killed(name string) {
	r.Helper()
	stage, fact := name+"/grpo", name+"-killed"
	if text := r.fact(fact); text != "" {
		r.Log(text)
		return
	}
	if r.step(stage) >= realRepeat {
		r.Fatalf("%s has made %d steps and was not killed; remove %s to begin it again", stage, r.step(stage),
			r.folder(name, "grpo"))
	}
	until := max(realKill, r.step(stage)+1)
	defer r.clock(name)()
	cmd := exec.Command(r.program(), "run", "--config", "examples/gsm8k/gsm8k.yaml", "name="+name)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "TRINITY_MODEL_PATH="+*realModel, "TRINITY_TASKSET_PATH="+*realData,
		"TRINITY_CHECKPOINT_ROOT_DIR="+*realDir, "XDG_CACHE_HOME="+filepath.Join(*realDir, "cache"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for r.step(stage) < until {
		select {
		case err := <-ended:
			r.Fatalf("%s ended: %v\n%s", name, err, out.String())
		case <-time.After(time.Second):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		r.Fatal(err)
	}
	<-ended
	text := fmt.Sprintf("%s: killed after step %d of GRPO", name, r.step(stage))
	r.keep(fact, text)
	r.Log(text)
}

// repeats runs the first steps of another job's GRPO again, without a kill: they must have the same bits.
func (r realRun) repeats(name, other string) {
	r.Helper()
	stage := name + "/grpo"
	r.share(name)
	if r.step(stage) < realRepeat {
		r.runTo(realRepeat, stage, r.config(name))
	}
	got, want := timeless(r.lines(stage)), timeless(r.lines(other+"/grpo"))
	if min(len(got), len(want)) < realRepeat {
		r.Fatalf("%s has %d steps and %s %d, want %d", name, len(got), other, len(want), realRepeat)
	}
	same(r, name, got[:realRepeat], want[:realRepeat])
	r.Logf("%d steps without the kill: the metrics have the same bits", realRepeat)
}

// runTo runs a job until a stage has made that many steps.
func (r realRun) runTo(step int, stage string, cfg *config.Config) {
	r.Helper()
	stop, ended := make(chan struct{}), make(chan error, 1)
	var out bytes.Buffer
	o := options()
	o.Out, o.Cache, o.Stop = &out, filepath.Join(*realDir, "cache"), stop
	go func() {
		_, err := Run(context.Background(), cfg, o)
		ended <- err
	}()
	for r.step(stage) < step {
		select {
		case err := <-ended:
			r.Fatalf("%s ended: %v\n%s", stage, err, out.String())
		case <-time.After(time.Second):
		}
	}
	close(stop)
	if err := <-ended; err != nil && !errors.Is(err, ErrInterrupted) {
		r.Fatalf("%s: %v\n%s", stage, err, out.String())
	}
}

// step is the last step of a stage's metrics.
func (r realRun) step(stage string) int {
	r.Helper()
	last := 0
	for _, l := range r.lines(stage) {
		last = max(last, l.Step)
	}
	return last
}
