//go:build !unix

package python

import "os/exec"

// Without process groups only the process itself is killed, and no guard is started.
func ownGroup(*exec.Cmd) {}

func killGroup(int) {}

const guarded = false
