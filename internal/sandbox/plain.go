package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// grace is how long an ended run may take to give its output.
const grace = 5 * time.Second

// runPlain runs a job without isolation, in a folder of its own, with limits of wall time and output alone. Its process
// group is killed at the end; a process that leaves the group outlives the run.
func runPlain(ctx context.Context, j Job) (Result, error) {
	dir, err := os.MkdirTemp("", "trinity-code-")
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	for name, data := range j.Files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return Result{}, fmt.Errorf("sandbox: %w", err)
		}
	}
	timed, cancel := context.WithTimeout(ctx, j.Limits.Wall)
	defer cancel()
	cmd := exec.CommandContext(timed, j.Args[0], j.Args[1:]...)
	out, errOut := &head{limit: j.Limits.Output}, &tail{limit: j.Limits.Output}
	cmd.Dir, cmd.Env, cmd.Stdin = dir, j.Env, strings.NewReader(j.Stdin)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, errOut, grace
	ownGroup(cmd)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	err = cmd.Wait()
	killGroup(cmd)
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && timed.Err() == nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	r := Result{Stdout: out.kept, Stderr: errOut.kept, StdoutCut: out.cut, StderrCut: errOut.cut,
		Exit: cmd.ProcessState.ExitCode(), Wall: time.Since(begin),
		CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.Signal = int(status.Signal())
	}
	if timed.Err() != nil {
		r.Stopped = StopWall
	}
	return r, nil
}
