package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// usage sums up the processes of a sandbox, except the first and the watcher.
type usage struct {
	processes int
	cpu       time.Duration // those that ended included
	memory    int64         // bytes: resident, swapped, page tables, sockets; what processes share counts for each
	ready     bool          // a thread computes, or would if it had a processor
}

// ownTime measures how long a program computes or waits for something other than a processor. The time in which other
// programs have the processors does not count: a busy machine does not stop a program that an idle one lets end.
type ownTime struct{ elapsed, waited time.Duration }

// after returns the program's own time, given what its processes use when so much time has passed.
func (o *ownTime) after(elapsed time.Duration, u usage) time.Duration {
	if !u.ready {
		o.waited += elapsed - o.elapsed
	}
	o.elapsed = elapsed
	return min(elapsed, o.waited+u.cpu)
}

// patience is how many times its wall time a program may last on a machine whose processors others have.
const patience = 60

// exceeded is the limit that all processes together are over.
func (w *watcher) exceeded() Stop {
	u, elapsed := w.use(), time.Since(w.begun)
	switch {
	case w.own.after(elapsed, u) > w.Limits.Wall:
		return StopWall
	case elapsed > patience*w.Limits.Wall:
		return stopStarved
	case u.cpu > w.Limits.CPU:
		return StopCPU
	case u.memory > w.Limits.Memory && w.proportional() > w.Limits.Memory:
		return StopMemory
	}
	return Ended
}

// tick is the unit of times in /proc on Linux.
const tick = time.Second / 100

// use reads /proc. Without it only processes that ended are known.
func (w *watcher) use() (u usage) {
	var ended unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &ended) == nil {
		u.cpu = time.Duration(ended.Utime.Nano() + ended.Stime.Nano())
	}
	for _, pid := range w.processes() {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // it ended
		}
		f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]) // state is field 3 of proc(5), and 0 here
		if len(f) < 22 || f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		u.processes++
		u.ready = u.ready || computes(f[0]) || number(f[17]) > 1 && threadComputes(pid)
		u.cpu += time.Duration(number(f[11])+number(f[12])) * tick
		u.memory += number(f[21])*int64(os.Getpagesize()) + sumOf(pid, "status", "VmPTE:", "VmSwap:")
	}
	u.memory += w.sockets.hold()
	return u
}

// computes reports whether a process or thread in a state runs, is ready to run, or waits for a disk.
func computes(state []byte) bool { return state[0] == 'R' || state[0] == 'D' }

// threadComputes looks at all threads of a process; the process's state is the first thread's.
func threadComputes(pid int) bool {
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		data, err := os.ReadFile(file)
		f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
		return err == nil && len(f) > 0 && computes(f[0])
	})
}

// processes are the ids in /proc but 1 and the own.
func (w *watcher) processes() (ids []int) {
	if w.blind {
		return nil
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // some are better than none
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != 1 && pid != os.Getpid() {
			ids = append(ids, pid)
		}
	}
	return ids
}

// proportional is the memory with what is shared counted once, as far as it can be read.
func (w *watcher) proportional() int64 {
	sum := w.sockets.hold()
	for _, pid := range w.processes() {
		sum += sumOf(pid, "smaps_rollup", "Pss:", "SwapPss:") + sumOf(pid, "status", "VmPTE:")
	}
	return sum
}

// sumOf is the sum of some lines of a file of a process in /proc, in bytes. A process that ended has none.
func sumOf(pid int, file string, names ...string) (sum int64) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		name, kib, _ := bytes.Cut(line, []byte(":"))
		if slices.Contains(names, string(name)+":") {
			sum += number(bytes.TrimSuffix(bytes.TrimSpace(kib), []byte(" kB"))) << 10
		}
	}
	return sum
}

func number(b []byte) int64 {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
