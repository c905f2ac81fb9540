//go:build unix

package python_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

// ended waits until none of the processes runs. A zombie that waits for its parent has ended.
func ended(t *testing.T, what string, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("%s, process %d ends", what, pid), func() bool { return !runs(pid) })
	}
}

func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || !exists("/proc/self/stat")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// children are the processes that this one has started and not reaped.
func children(t *testing.T) string {
	t.Helper()
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	var all string
	for _, name := range tasks {
		data, _ := os.ReadFile(name)
		all += string(data)
	}
	return strings.TrimSpace(all)
}

// TestNothingOutlivesClose: processes and their children are gone, no zombie and no pipe is left.
func TestNothingOutlivesClose(t *testing.T) {
	files := func() int { list, _ := os.ReadDir("/proc/self/fd"); return len(list) }
	before := files()
	h := open(t, func(o *python.Options) { o.Processes = 2 })
	var pids []int
	if err := h.Call(t.Context(), "fail.spawn", nil, &pids, nil); err != nil {
		t.Fatal(err)
	}
	h.Close()
	ended(t, "after Close", pids)
	if left := children(t); left != "" {
		t.Errorf("children are left: %s", left)
	}
	if after := files(); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

// TestLostLeavesNothing: a process that crashes takes its children with it.
func TestLostLeavesNothing(t *testing.T) {
	t.Parallel()
	h := open(t, nil)
	var pids []int
	if err := h.Call(t.Context(), "fail.spawn", nil, &pids, nil); err != nil {
		t.Fatal(err)
	}
	h.Call(t.Context(), "fail.exit_at_once", nil, nil, nil)
	ended(t, "after a crash", pids)
}

// TestNothingOutlivesKill starts this test binary as a program, kills it, and looks for what it started: also when
// Python is busy in C code that lets nothing else run, and when the guard is dead.
func TestNothingOutlivesKill(t *testing.T) {
	pythontest.Needed(t)
	if os.Getenv("PYTHON_TEST_VICTIM") != "" {
		victim(t)
	}
	folder := t.TempDir()
	for _, how := range []string{"idle", "hung", "without guard"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestNothingOutlivesKill$")
		cmd.Env = append(os.Environ(), "PYTHON_TEST_VICTIM="+how, "PYTHON_TEST_FOLDER="+folder)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var pids []int
		if err := json.Unmarshal(line, &pids); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, pid := range pids {
			if !runs(pid) {
				t.Errorf("%s: %d of %v does not run", how, pid, pids)
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		ended(t, how, pids)
	}
}

// victim opens a host, prints the ids of all that runs, and waits to be killed.
func victim(t *testing.T) {
	how := os.Getenv("PYTHON_TEST_VICTIM")
	h := open(t, func(o *python.Options) { o.Folder = os.Getenv("PYTHON_TEST_FOLDER") })
	var pids []int
	if err := h.Call(t.Context(), "fail.spawn", nil, &pids, nil); err != nil {
		t.Fatal(err)
	}
	guards := 0
	for _, f := range strings.Fields(children(t)) {
		var pid int
		fmt.Sscan(f, &pid)
		if pid == pids[0] {
			continue
		}
		guards++
		if how == "without guard" {
			syscall.Kill(pid, syscall.SIGKILL)
			continue
		}
		pids = append(pids, pid)
	}
	if guards != 1 && exists("/proc/self/task") {
		t.Fatalf("%d guards", guards)
	}
	if how == "hung" {
		begin(t.Context(), t, h, "fail.hold_the_lock", 600)
	}
	line, _ := json.Marshal(pids)
	fmt.Println(string(line))
	<-time.After(time.Minute)
	os.Exit(1)
}
