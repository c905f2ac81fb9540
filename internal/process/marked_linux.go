package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// memoryFlag is ulimit's for RLIMIT_DATA, which counts written memory and not reserved memory.
const memoryFlag = "-d"

// killMarked kills the processes whose environment has the variable name, given as NAME=value: those that left the
// group of their program. It looks again until there is none, as one may start another meanwhile.
func killMarked(name string) {
	for range 10 {
		found := false
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			data, err := os.ReadFile(file) // of this user's processes alone
			if err != nil || !bytes.Contains(data, []byte(name)) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				found = true
			}
		}
		if !found {
			return
		}
	}
}
