//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

const grouped = true

// ownGroup gives the program a process group of its own: ^C on the terminal does not reach it, and killGroup reaches
// its children.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills all that is left of a group. pid is its leader.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// terminate asks a program to end.
func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }
