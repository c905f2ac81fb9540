package main

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// killed runs a command repeatedly and kills it a little later each time, until it ends by itself.
func killed(ts *testscript.TestScript, _ bool, args []string) {
	kills := 0
	for after := 60 * time.Millisecond; ; after = after * 5 / 4 {
		cmd := command(ts, args[1:])
		ts.Check(cmd.Start())
		timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() {
			ts.Fatalf("killed after %v before, the command failed: %v", after, err)
		}
		kills++
	}
	ts.Logf("killed %d times", kills)
	if kills < 3 {
		ts.Fatalf("only %d kills before the end: the test proves nothing", kills)
	}
}

// interrupted runs a command and sends Ctrl-C at its second step; it must end with 0.
func interrupted(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, args)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	said := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "step 2/") {
			ts.Check(cmd.Process.Signal(os.Interrupt))
		}
		said = said || strings.Contains(lines.Text(), "stopped after step")
	}
	if err := cmd.Wait(); err != nil || !said {
		ts.Fatalf("after Ctrl-C: %v, and it said where it stopped: %v", err, said)
	}
}

func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	path, err := exec.LookPath(args[0])
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, serr := os.Stat(filepath.Join(dir, args[0])); serr == nil {
			path, err = filepath.Join(dir, args[0]), nil
			break
		}
	}
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	return cmd
}

// samemetrics compares the metrics of two jobs except times: they must have the same steps and the same bits.
func samemetrics(ts *testscript.TestScript, _ bool, args []string) {
	a, b := metricsOf(ts, args[0]), metricsOf(ts, args[1])
	if len(a) == 0 || len(a) != len(b) {
		ts.Fatalf("%d lines and %d lines", len(a), len(b))
	}
	for i := range a {
		if !reflect.DeepEqual(a[i], b[i]) {
			ts.Fatalf("line %d differs:\n%v\n%v", i+1, a[i], b[i])
		}
	}
}

func metricsOf(ts *testscript.TestScript, job string) []monitor.Line {
	lines, err := monitor.ReadLog(filepath.Join(ts.MkAbs(job), "metrics.jsonl"))
	ts.Check(err)
	for _, l := range lines {
		maps.DeleteFunc(l.Metrics, func(key string, _ float64) bool { return monitor.IsTime(key) })
	}
	return lines
}
