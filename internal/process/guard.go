package process

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// script is the guard. Lines of its input name process groups, "+ PID" and "- PID". When the input ends it kills
// the groups that are left, and on Linux the processes with the mark $1 in their environment.
const script = `groups=" "
while read -r op pid; do
	case $op in
	+) groups="$groups$pid " ;;
	-) case $groups in *" $pid "*) groups="${groups%% $pid *} ${groups#* $pid }" ;; esac ;;
	esac
done
for pid in $groups; do kill -9 -"$pid" 2>/dev/null; done
for file in $(grep -ls "$1" /proc/[0-9]*/environ 2>/dev/null); do
	pid=${file#/proc/}
	kill -9 "${pid%/environ}" 2>/dev/null
done
`

// mark is the variable by which processes are found that left their group.
const mark = "TRINITY_PROCESS"

// Guard starts programs, and ends them if this program is killed. It is safe for concurrent use.
type Guard struct {
	name string // of this guard, random

	mu     sync.Mutex
	cmd    *exec.Cmd // nil: none is started
	in     io.WriteCloser
	closed bool
	all    map[*Process]bool
	count  int
	wait   sync.WaitGroup
}

// NewGuard returns a guard that starts with the first program.
func NewGuard() *Guard {
	var name [8]byte
	rand.Read(name[:]) // never fails
	return &Guard{name: hex.EncodeToString(name[:]), all: map[*Process]bool{}}
}

// ErrClosed is the error of programs that Close ended, and of Start after it.
var ErrClosed = errors.New("process: the run has ended")

// begin starts the guard itself. The caller holds mu.
func (g *Guard) begin() error {
	if !grouped || g.cmd != nil {
		return nil
	}
	cmd := exec.Command("/bin/sh", "-c", script, "sh", mark+"="+g.name)
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("process: start the guard: %w", err)
	}
	g.cmd, g.in = cmd, in
	return nil
}

// tell names a process group. A guard that is gone is no fault: it is a second safety. The caller holds mu.
func (g *Guard) tell(op string, pid int) {
	if g.cmd != nil {
		fmt.Fprintf(g.in, "%s %d\n", op, pid)
	}
}

// Close kills all programs that still run, and returns when nothing is left.
func (g *Guard) Close() error {
	g.mu.Lock()
	g.closed = true
	for p := range g.all {
		p.kill(ErrClosed)
	}
	g.mu.Unlock()
	g.wait.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cmd != nil {
		g.in.Close()
		g.cmd.Wait()
		g.cmd = nil
	}
	return nil
}
