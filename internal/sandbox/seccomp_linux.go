//go:build linux && (amd64 || arm64)

package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are the system calls that a program is refused with EPERM: those that change the machine, look into other
// processes or have a history of faults in the kernel. Namespaces and missing capabilities refuse most of them too;
// the filter keeps the kernel's code behind them out of reach. Besides these, those that give memory which no process
// has to map, as the watcher does not see it: memfd and System V's shared memory, semaphores and messages. Calls that
// are newer than newestCall are missing, whatever they do.
var denied = append([]uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_ADJTIMEX, unix.SYS_BPF, unix.SYS_CHROOT, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_INIT_MODULE, unix.SYS_IO_SETUP,
	unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP, unix.SYS_KCMP,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD,
	unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_MOUNT,
	unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MSGGET, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_NFSSERVCTL,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_PIVOT_ROOT, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PTRACE, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT, unix.SYS_REQUEST_KEY, unix.SYS_SEMGET,
	unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_SHMGET,
	unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2, unix.SYS_UNSHARE, unix.SYS_USERFAULTFD,
	unix.SYS_VHANGUP, unix.SYS_VMSPLICE,
}, deniedHere...)

// newestCall is the last call, in Linux 6.7, whose effects were considered. Later ones have higher numbers, on both
// architectures alike: open_tree_attr mounts, for one.
const newestCall = unix.SYS_FUTEX_REQUEUE

// The kinds of sockets that a program may have: between its own processes, and the internet's, which lead nowhere.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// options are the socket options that a program may set, by level: nothing that takes memory, such as larger buffers,
// filters and memberships.
var options = []struct {
	level uint32
	names []uint32
}{
	{unix.SOL_SOCKET, []uint32{unix.SO_REUSEADDR, unix.SO_REUSEPORT, unix.SO_BROADCAST, unix.SO_KEEPALIVE,
		unix.SO_LINGER, unix.SO_RCVTIMEO, unix.SO_SNDTIMEO, unix.SO_PASSCRED, unix.SO_OOBINLINE}},
	{unix.IPPROTO_TCP, []uint32{unix.TCP_NODELAY}},
	{unix.IPPROTO_IPV6, []uint32{unix.IPV6_V6ONLY}},
}

// namespaces are the flags of clone that make namespaces.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// without lists the protections that are missing on this architecture.
var without []string

// Where struct seccomp_data has its fields; arguments are of 8 bytes, the low half first.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16
	dataArg1   = 24
	dataArg2   = 32
	dataArg3   = 40
)

// filterProgram is the filter in classic BPF, see seccomp(2). It is a plain sequence: each rule either returns or falls
// through to the next.
func filterProgram() ([]unix.SockFilter, error) {
	deny := uint32(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	p := []unix.SockFilter{
		load(dataArch), jump(unix.BPF_JEQ, auditArch, 1, 0), ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(dataNumber),
		jump(unix.BPF_JGE, 0x40000000, 0, 1), ret(deny), // the x32 calls of amd64, and no calls at all elsewhere
		jump(unix.BPF_JGT, newestCall, 1, 0),      // libc then takes an older one
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), // libc then takes clone, whose flags can be read
		ret(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
	}
	for _, nr := range denied {
		p = append(p, jump(unix.BPF_JEQ, nr, 0, 1), ret(deny))
	}
	p = append(p, // clone without new namespaces
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 3), load(dataArg0), jump(unix.BPF_JSET, namespaces, 0, 1), ret(deny),
		load(dataNumber))
	for _, nr := range []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO} {
		p = append(p, // no signal to the watcher
			jump(unix.BPF_JEQ, nr, 0, 3), load(dataArg0), jump(unix.BPF_JEQ, 1, 0, 1), ret(deny), load(dataNumber))
	}
	for _, nr := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		p = append(p, jump(unix.BPF_JEQ, nr, 0, uint8(2+len(families))), load(dataArg0))
		for i, f := range families {
			p = append(p, jump(unix.BPF_JEQ, f, uint8(len(families)-i), 0))
		}
		p = append(p, ret(deny), load(dataNumber))
	}
	p = append(p, // no shared memory without a file: it stays, in no process, while one page of it is mapped
		jump(unix.BPF_JEQ, unix.SYS_MMAP, 0, 5), load(dataArg3), jump(unix.BPF_JSET, unix.MAP_SHARED, 0, 2),
		jump(unix.BPF_JSET, unix.MAP_ANONYMOUS, 0, 1), ret(deny), load(dataNumber))
	p = append(p, allowOptions(deny)...)
	return append(p, ret(unix.SECCOMP_RET_ALLOW)), nil
}

// allowOptions refuses setsockopt but for options; it is the last rule but one.
func allowOptions(deny uint32) (p []unix.SockFilter) {
	p = append(p, jump(unix.BPF_JEQ, unix.SYS_SETSOCKOPT, 1, 0), ret(unix.SECCOMP_RET_ALLOW))
	for _, o := range options {
		p = append(p, load(dataArg1), jump(unix.BPF_JEQ, o.level, 0, uint8(3+len(o.names))), load(dataArg2))
		for i, name := range o.names {
			p = append(p, jump(unix.BPF_JEQ, name, uint8(len(o.names)-i), 0))
		}
		p = append(p, ret(deny), ret(unix.SECCOMP_RET_ALLOW))
	}
	return append(p, ret(deny))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// jump skips yes instructions if the loaded value compares so with k, no otherwise.
func jump(compare uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func ret(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}

// install applies a filter to this thread and to what it executes.
func install(filter []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}
