package tool

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel end a command when this process dies.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
