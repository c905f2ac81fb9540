package python

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// guard is a small process that outlives this one if it is killed, and then kills the processes and their children,
// even if they hang. PR_SET_PDEATHSIG would reach neither children nor other systems than Linux, and it fires when the
// thread ends that started the process, which Go does not promise to keep.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// startGuard starts it. Where there are no process groups there is none.
func startGuard(executable, lib string) (*guard, error) {
	if !guarded {
		return &guard{}, nil
	}
	cmd := exec.Command(executable, "-I", "-S", filepath.Join(lib, "trinity", "_host", "guard.py"))
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("python: start %s: %w", executable, err)
	}
	return &guard{cmd, in}, nil
}

// add and remove name a process group. A guard that is gone is no fault: it is a second safety.
func (g *guard) add(pid int)    { g.tell("+%d\n", pid) }
func (g *guard) remove(pid int) { g.tell("-%d\n", pid) }

func (g *guard) tell(format string, pid int) {
	if g.cmd != nil {
		fmt.Fprintf(g.in, format, pid)
	}
}

// close ends the guard. All processes are gone by then.
func (g *guard) close() {
	if g.cmd != nil {
		g.in.Close()
		g.cmd.Wait()
	}
}
