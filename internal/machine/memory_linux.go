package machine

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Memory is the machine's memory, or the limit of this process's control group, in bytes; 0 if unknown.
func Memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	n := int64(info.Totalram) * int64(info.Unit)
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil { // "max" is none
			n = min(n, limit)
		}
	}
	return n
}
