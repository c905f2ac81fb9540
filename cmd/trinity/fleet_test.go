package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// fleetOptions are a short run of the example that this program carries.
var fleetOptions = []string{"run", "--config", "examples/tiny/gsm8k.yaml", "seed=3", "buffer.total_steps=4",
	"trainer.total_steps=4", "buffer.batch_size=2", "algorithm.repeat_times=4", "trainer.save_interval=2",
	"buffer.explorer_input.eval_tasksets=[]"}

// crew is the workers of a test.
type crew struct {
	t     testing.TB
	home  string
	creds string
	wrap  func(*exec.Cmd) // changes a worker's command; nil for none

	mu      sync.Mutex
	workers []*exec.Cmd
	said    *lockedBuffer
	made    int
}

// join starts a worker. args are further flags.
func (c *crew) join(args ...string) {
	c.t.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(c.creds); err == nil {
			break
		} else if time.Since(begun) > time.Minute {
			c.t.Fatalf("no credentials: %v", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	name := fmt.Sprint("w", c.made)
	cmd := trinity(c.home, append([]string{"worker", "--creds", c.creds, "--threads", "1", "--battery", "--no-hub",
		"--name", name, "--cache", filepath.Join(c.home, name)}, args...)...)
	cmd.Stdout, cmd.Stderr = c.said, c.said
	if c.wrap != nil {
		c.wrap(cmd)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.workers = append(c.workers, cmd)
}

// kill ends the oldest worker as kill -9 does.
func (c *crew) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.workers) == 0 {
		return
	}
	w := c.workers[0]
	c.workers = c.workers[1:]
	w.Process.Kill()
	w.Wait()
}

// computed matches what a worker says when it leaves.
var computed = regexp.MustCompile(`computed (\d+) tasks`)

// leave asks all workers to leave and returns how many tasks they computed.
func (c *crew) leave() (tasks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		w.Process.Signal(syscall.SIGTERM)
	}
	for _, w := range c.workers {
		timer := time.AfterFunc(time.Minute, func() { w.Process.Kill() })
		if err := w.Wait(); err != nil && c.greeted(w) {
			c.t.Errorf("a worker after SIGTERM: %v; the workers said:\n%s", err, c.said)
		}
		timer.Stop()
	}
	c.workers = nil
	for _, m := range computed.FindAllStringSubmatch(c.said.String(), -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			c.t.Error(err)
		}
		tasks += n
	}
	return tasks
}

// greeted reports whether a worker has said its name. Before that, SIGTERM may end it as any program.
func (c *crew) greeted(w *exec.Cmd) bool {
	at := slices.Index(w.Args, "--name")
	return strings.Contains(c.said.String(), "worker "+w.Args[at+1]+":")
}

// newCrew returns the crew of a job in home.
func newCrew(t testing.TB, home, job string) *crew {
	c := &crew{t: t, home: home, said: &lockedBuffer{},
		creds: filepath.Join(home, "checkpoints", "trinity-tiny", job, "fleet", "worker.creds")}
	t.Cleanup(func() {
		for len(c.workers) > 0 {
			c.kill()
		}
	})
	return c
}

// followSteps runs a command and calls step with the number of each step that it has done.
func followSteps(t testing.TB, cmd *exec.Cmd, step func(n int)) error {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := &lockedBuffer{}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := regexp.MustCompile(`step (\d+)/`)
	for lines := bufio.NewScanner(io.TeeReader(out, said)); lines.Scan(); {
		if m := done.FindStringSubmatch(lines.Text()); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			step(n)
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w; it said:\n%s", err, said)
	}
	return nil
}

// sameJobs compares the metrics of two jobs in home except times.
func sameJobs(t testing.TB, home, a, b string) {
	t.Helper()
	var jobs [2][]monitor.Line
	for i, name := range []string{a, b} {
		lines, err := monitor.ReadLog(filepath.Join(home, "checkpoints", "trinity-tiny", name, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			maps.DeleteFunc(l.Metrics, func(key string, _ float64) bool { return monitor.IsTime(key) })
		}
		jobs[i] = lines
	}
	if len(jobs[0]) == 0 || len(jobs[0]) != len(jobs[1]) {
		t.Fatalf("%s has %d lines of metrics, %s has %d", a, len(jobs[0]), b, len(jobs[1]))
	}
	for i := range jobs[0] {
		if !reflect.DeepEqual(jobs[0][i], jobs[1][i]) {
			t.Fatalf("line %d of the metrics differs:\n%v\n%v", i+1, jobs[0][i], jobs[1][i])
		}
	}
}

// A run over workers, one of which is killed and another on portable kernels, has the metrics of the run alone.
func TestFleetRun(t *testing.T) {
	home := t.TempDir()
	if err := followSteps(t, trinity(home, append(fleetOptions, "name=alone")...), func(int) {}); err != nil {
		t.Fatal(err)
	}
	workers := newCrew(t, home, "fleet")
	cmd := trinity(home, append(fleetOptions, "name=fleet", "fleet.listen=127.0.0.1:0", "fleet.local=false",
		"fleet.verify=0.2")...)
	var joined sync.WaitGroup
	joined.Go(func() {
		workers.join()
		workers.join("--kernel", "portable")
	})
	if err := followSteps(t, cmd, func(n int) {
		switch n {
		case 1:
			joined.Wait()
		case 2:
			workers.kill()
			workers.join()
		}
	}); err != nil {
		t.Fatalf("%v; the workers said:\n%s", err, workers.said)
	}
	joined.Wait()
	sameJobs(t, home, "alone", "fleet")
	if n := workers.leave(); n == 0 {
		t.Errorf("the workers computed nothing; they said:\n%s", workers.said)
	}
}

// freeAddress is a port of this machine that nobody listens on.
func freeAddress(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
