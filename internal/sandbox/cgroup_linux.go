package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A memory cgroup counts everything that the kernel charges to processes, no matter which process maps it: page tables,
// the contents of sockets and pipes, records of the kernel, and the files of /tmp. If this user may make cgroups, each
// run has one, beside the limits that need none.

// cgroups is where this user may make cgroups for runs; nil: nowhere.
type cgroups struct {
	parent  string
	unified bool // version 2
}

// cgroupName begins the names of cgroups of runs.
const cgroupName = "trinity-sandbox-"

// overhead is the memory of the stages beside the program.
const overhead = 64 << 20

// findCgroups looks for a place: beside this process's cgroup of version 2, in which processes and cgroups exclude each
// other, or in that of version 1.
func findCgroups() *cgroups {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		var c *cgroups
		switch {
		case len(f) == 3 && f[1] == "" && f[2] != "/":
			c = &cgroups{path.Join("/sys/fs/cgroup", path.Dir(f[2])), true}
		case len(f) == 3 && f[1] == "memory":
			c = &cgroups{path.Join("/sys/fs/cgroup/memory", f[2]), false}
		default:
			continue
		}
		if one, err := c.make(overhead); err == nil {
			one.remove()
			c.sweep()
			return c
		}
	}
	return nil
}

// sweep removes the cgroups of programs that were killed in the middle of a run. The kernel keeps those in use, and new
// ones may be on their way into use.
func (c *cgroups) sweep() {
	left, _ := filepath.Glob(filepath.Join(c.parent, cgroupName+"*")) // a pattern without mistakes
	for _, dir := range left {
		if st, err := os.Stat(dir); err == nil && time.Since(st.ModTime()) > time.Hour {
			_ = unix.Rmdir(dir) // an empty one costs next to nothing
		}
	}
}

// cgroup is a run's cgroup.
type cgroup struct {
	*cgroups
	dir *os.File
}

// make makes a cgroup with a limit in bytes.
func (c *cgroups) make(limit int64) (one *cgroup, err error) {
	dir, err := os.MkdirTemp(c.parent, cgroupName)
	if err != nil {
		return nil, err
	}
	one = &cgroup{cgroups: c}
	if one.dir, err = os.Open(dir); err != nil {
		return nil, errors.Join(err, unix.Rmdir(dir))
	}
	file, swap := "memory.max", "memory.swap.max"
	if !c.unified {
		file, swap = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	}
	if err := one.write(file, limit); err != nil {
		return nil, errors.Join(err, one.remove())
	}
	if c.unified {
		limit = 0 // of swap alone; version 1 counts memory and swap
	}
	_ = one.write(swap, limit) // a kernel without accounts of swap has no such file
	return one, nil
}

func (o *cgroup) write(file string, n int64) error {
	f, err := os.OpenFile(filepath.Join(o.dir.Name(), file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(f, n)
	return errors.Join(err, f.Close())
}

// holds makes a command begin in the cgroup. The result is called with its process before the stage is told what to do,
// since version 1 needs processes to be moved.
func (o *cgroup) holds(cmd *exec.Cmd) (began func(pid int) error) {
	if o == nil {
		return func(int) error { return nil }
	}
	if o.unified {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(o.dir.Fd())
		return func(int) error { return nil }
	}
	return func(pid int) error { return o.write("cgroup.procs", int64(pid)) }
}

// killed reports whether the kernel killed processes of the cgroup because of its limit.
func (o *cgroup) killed() bool {
	if o == nil {
		return false
	}
	file := "memory.events"
	if !o.unified {
		file = "memory.oom_control"
	}
	data, err := os.ReadFile(filepath.Join(o.dir.Name(), file))
	for line := range bytes.Lines(data) {
		if n, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok && err == nil {
			return number(bytes.TrimSpace(n)) > 0
		}
	}
	return false
}

// remove removes the cgroup of a run that has ended. The kernel may need a moment to let its processes go.
func (o *cgroup) remove() error {
	if o == nil {
		return nil
	}
	err := unix.Rmdir(o.dir.Name())
	for wait := time.Millisecond; errors.Is(err, syscall.EBUSY) && wait < time.Second; wait *= 2 {
		time.Sleep(wait)
		err = unix.Rmdir(o.dir.Name())
	}
	return errors.Join(err, o.dir.Close())
}
