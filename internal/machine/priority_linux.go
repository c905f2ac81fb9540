package machine

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// LowerPriority sets the priority of all threads of this process; those made later inherit it.
func LowerPriority(nice int) error {
	if nice == 0 {
		return nil
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, id, nice); err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}
