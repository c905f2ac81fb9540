package main

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// job is a small run, on a server if url is not empty.
func job(home, name, url string) *exec.Cmd {
	args := []string{"run", "--config", "examples/tiny/gsm8k.yaml", "name=" + name, "seed=3", "buffer.total_steps=6",
		"trainer.total_steps=6", "buffer.batch_size=4", "algorithm.repeat_times=4", "trainer.save_interval=2",
		"buffer.explorer_input.eval_tasksets=[]"}
	if url != "" {
		args = append(args, "model.tinker.base_url="+url)
	}
	return trinity(home, args...)
}

// atStep runs a job and calls f when it reports a finished step.
func atStep(t *testing.T, cmd *exec.Cmd, step string, f func()) (said string, err error) {
	t.Helper()
	out, werr := cmd.StdoutPipe()
	if werr != nil {
		t.Fatal(werr)
	}
	var text, complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, done := bufio.NewScanner(io.TeeReader(out, &text)), false
	for lines.Scan() {
		if !done && strings.Contains(lines.Text(), step) {
			done = true
			f()
		}
	}
	err = cmd.Wait()
	if !done {
		t.Fatalf("%q was never said:\n%s%s", step, &text, &complaints)
	}
	return text.String() + complaints.String(), err
}

func steps(t *testing.T, home, name string) []monitor.Line {
	t.Helper()
	lines, err := monitor.ReadLog(filepath.Join(home, "checkpoints", "trinity-tiny", name, "metrics.jsonl"))
	if err != nil || len(lines) == 0 {
		t.Fatalf("%s: %d lines of metrics, %v", name, len(lines), err)
	}
	for _, l := range lines {
		maps.DeleteFunc(l.Metrics, func(key string, _ float64) bool { return monitor.IsTime(key) })
	}
	return lines
}

// A run pauses while its server is killed and restarted, and resumes when it is killed itself. Both end with the bits
// of an uninterrupted run in one process.
func TestRunOnKilledServer(t *testing.T) {
	home := t.TempDir()
	if out, err := job(home, "whole", "").CombinedOutput(); err != nil {
		t.Fatalf("the run in one process: %v\n%s", err, out)
	}
	want := steps(t, home, "whole")

	p := newProcess(t, home)
	p.start()
	said, err := atStep(t, job(home, "paused", p.url), "step 2/6", func() {
		p.kill()
		p.start()
	})
	if err != nil {
		t.Fatalf("the server was killed: %v\n%s", err, said)
	}
	if !reflect.DeepEqual(steps(t, home, "paused"), want) {
		t.Error("the server was killed: the metrics are not those of the run in one process")
	}

	first := job(home, "killed", p.url)
	if said, err := atStep(t, first, "step 3/6", func() { first.Process.Signal(os.Kill) }); err == nil {
		t.Fatalf("the run was not killed:\n%s", said)
	}
	if out, err := job(home, "killed", p.url).CombinedOutput(); err != nil {
		t.Fatalf("the run was killed, and started again: %v\n%s", err, out)
	}
	if !reflect.DeepEqual(steps(t, home, "killed"), want) {
		t.Error("the run was killed: the metrics are not those of the run in one process")
	}
}
