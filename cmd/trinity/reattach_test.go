package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// job is a small run, on a server if url is not empty.
func job(p program.Program, name, url string) *exec.Cmd {
	args := append(program.Tiny(), "name="+name)
	if url != "" {
		args = append(args, "model.tinker.base_url="+url)
	}
	return p.Command(args...)
}

func steps(t *testing.T, home, name string) []monitor.Line {
	t.Helper()
	lines, err := program.Metrics(filepath.Join(home, "checkpoints", "trinity-tiny", name, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// A run pauses while its server is killed and restarted, and resumes when it is killed itself. Both end with the bits
// of an uninterrupted run in one process.
func TestRunOnKilledServer(t *testing.T) {
	t.Parallel()
	self := self(t, t.TempDir())
	if out, err := job(self, "whole", "").CombinedOutput(); err != nil {
		t.Fatalf("the run in one process: %v\n%s", err, out)
	}
	want := steps(t, self.Home, "whole")

	s := newRunning(t, self.Home)
	p := begin(t, job(self, "paused", s.URL))
	await(t, p, "step 2/4")
	s.Kill()
	start(t, s)
	if err := p.Wait(); err != nil {
		t.Fatalf("the server was killed: %v\n%s", err, p.Said())
	}
	if d := program.DifferentMetrics(want, steps(t, self.Home, "paused")); d != "" {
		t.Errorf("the server was killed: %s", d)
	}

	p = begin(t, job(self, "killed", s.URL))
	await(t, p, "step 3/4")
	p.Kill()
	p.Wait()
	if out, err := job(self, "killed", s.URL).CombinedOutput(); err != nil {
		t.Fatalf("the run was killed, and started again: %v\n%s", err, out)
	}
	if d := program.DifferentMetrics(want, steps(t, self.Home, "killed")); d != "" {
		t.Errorf("the run was killed: %s", d)
	}
}
