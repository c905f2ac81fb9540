//go:build !unix

package process

import (
	"os"
	"os/exec"
)

const grouped = false

func ownGroup(*exec.Cmd) {}

func killGroup(int) {}

func terminate(p *os.Process) { p.Kill() }
