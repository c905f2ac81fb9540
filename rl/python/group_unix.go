//go:build unix

package python

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a process group of its own: ^C on the terminal does not reach it, and killGroup reaches
// its children.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills all that is left of a group. pid is its leader.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

const guarded = true
