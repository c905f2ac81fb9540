package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enter is the stage that gives up all rights and becomes the program. Rights belong to a thread, and the thread that
// executes the program passes on its own.
func enter() int {
	runtime.LockOSThread()
	orders, refusals := os.NewFile(ordersFD, "orders"), os.NewFile(reportsFD, "refusals")
	if orders == nil || refusals == nil {
		return 2
	}
	keepFromProgram(ordersFD)
	var e entry
	if err := receive(orders, &e); err != nil {
		return 2
	}
	if err := e.become(); err != nil {
		fmt.Fprint(refusals, err) // read by the watcher
		return 2
	}
	return 0
}

// keepFromProgram makes the descriptors from the first on end where the program begins. Among them are those that this
// program's own parent left open, which lead outside of the sandbox.
func keepFromProgram(first int) {
	if unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	for fd := first; fd < 1<<16; fd++ { // a kernel before Linux 5.11
		unix.CloseOnExec(fd)
	}
}

// become does not return if there is a program and it can be executed.
func (e *entry) become() error {
	x, err := newImage(e)
	if err != nil {
		return err
	}
	filter, err := filterProgram()
	if err != nil {
		return err
	}
	if err := errors.Join(e.limit(), e.drop()); err != nil {
		return err
	}
	if err := install(filter); err != nil {
		return step("seccomp", err)
	}
	if x == nil {
		return nil
	}
	// The last limits come here: the other threads of this process would end it for want of memory if they ran before
	// the program begins. What can be written counts, and what is only reserved, of which Go takes a gigabyte, has a
	// larger limit: a page table takes a page for each two megabytes, whatever they hold.
	var errno syscall.Errno
	for resource, most := range map[uintptr]int64{unix.RLIMIT_DATA: e.Limits.Memory, unix.RLIMIT_AS: e.Reserve} {
		limit := unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
		if errno == 0 {
			_, _, errno = unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, resource, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
		}
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_DUP3, stderrFD, 2, 0)
	}
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(x.path)),
			uintptr(unsafe.Pointer(&x.args[0])), uintptr(unsafe.Pointer(&x.env[0])))
	}
	return fmt.Errorf("execute %s: %w", e.Args[0], errno)
}

// image is a program as execve reads it.
type image struct {
	path      *byte
	args, env []*byte // each ends with nil
}

func newImage(e *entry) (x *image, err error) {
	if len(e.Args) == 0 {
		return nil, nil
	}
	x = new(image)
	if x.path, err = unix.BytePtrFromString(e.Args[0]); err != nil {
		return nil, fmt.Errorf("the program's name: %w", err)
	}
	if x.args, err = syscall.SlicePtrFromStrings(e.Args); err != nil {
		return nil, fmt.Errorf("the program's arguments: %w", err)
	}
	if x.env, err = syscall.SlicePtrFromStrings(e.Env); err != nil {
		return nil, fmt.Errorf("the program's environment: %w", err)
	}
	return x, nil
}

// usualStack is the limit of the stack if none is set: libc makes the stacks of threads as large.
const usualStack = 8 << 20

// limit sets what setrlimit bounds, but for the memory.
func (e *entry) limit() error {
	cpu := uint64((e.Limits.CPU + time.Second - 1) / time.Second)
	var stack unix.Rlimit // is not part of DATA
	if err := unix.Prlimit(0, unix.RLIMIT_STACK, nil, &stack); err != nil {
		return fmt.Errorf("limit STACK: %w", err)
	}
	if stack.Cur == unix.RLIM_INFINITY {
		stack.Cur = usualStack
	}
	stack.Max = min(stack.Max, uint64(e.Limits.Memory))
	for _, l := range []struct {
		name     string
		resource int
		soft, hd uint64
	}{
		{"CPU", unix.RLIMIT_CPU, cpu, cpu + 1},
		{"NPROC", unix.RLIMIT_NPROC, uint64(e.Limits.Processes + e.Threads), uint64(e.Limits.Processes + e.Threads)},
		{"FSIZE", unix.RLIMIT_FSIZE, uint64(e.Limits.Disk), uint64(e.Limits.Disk)},
		{"NOFILE", unix.RLIMIT_NOFILE, uint64(e.Limits.OpenFiles), uint64(e.Limits.OpenFiles)},
		{"CORE", unix.RLIMIT_CORE, 0, 0},
		{"MEMLOCK", unix.RLIMIT_MEMLOCK, 0, 0},
		{"MSGQUEUE", unix.RLIMIT_MSGQUEUE, 0, 0},
		{"STACK", unix.RLIMIT_STACK, min(stack.Cur, stack.Max), stack.Max},
	} {
		if err := unix.Prlimit(0, l.resource, &unix.Rlimit{Cur: l.soft, Max: l.hd}, nil); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// drop gives up user, groups and capabilities of this thread, for good.
func (e *entry) drop() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && err != unix.EINVAL { // EINVAL: this kernel has fewer
			return step("drop capabilities", err)
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // the set is empty after Capset anyway
	if e.UID != 0 {
		id := uintptr(e.UID)
		for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS}, {unix.SYS_SETRESGID, id, id, id},
			{unix.SYS_SETRESUID, id, id, id}} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				return step("change the user", errno)
			}
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return errors.Join(step("capset", unix.Capset(&head, &none[0])),
		step("no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
}
