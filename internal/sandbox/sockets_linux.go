package sandbox

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// fewFiles is the limit of a process's open files if the memory of sockets is not counted.
const fewFiles = 64

// sockets bounds the memory of what was sent between the processes of a sandbox and not read yet. It is in no process:
// the kernel charges it to the socket that sent it, up to the size of its buffer, which the filter of system calls
// keeps as it is. What a closed socket sent stays until it is read.
type sockets struct {
	buffer int64 // bytes that a socket may have under way
	queue  int64 // messages that a socket for datagrams keeps of closed ones
}

// measure reads the size of a socket's buffer and queue. If it cannot be read, Linux's defaults count.
func (s *sockets) measure() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return step("socket", err)
	}
	defer unix.Close(fd)
	size, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return step("size of a socket's buffer", err)
	}
	s.buffer, s.queue = int64(size), 10
	if data, err := os.ReadFile("/proc/sys/net/unix/max_dgram_qlen"); err == nil {
		s.queue = max(1, number(bytes.TrimSpace(data)))
	}
	return nil
}

// hold is an upper bound of the memory in the sandbox's sockets, those sent in a message included. It is
// much more than most of them do, and 2,000 sockets of one program reach a limit of half a gigabyte.
func (s *sockets) hold() (sum int64) {
	data, err := os.ReadFile("/proc/net/unix") // the network namespace is the sandbox's own
	if err != nil {
		return 0
	}
	first := true
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line) // Num RefCount Protocol Flags Type St Inode Path
		if !first && len(f) > 4 && f[4] == "0002" {
			sum += (s.queue + 1) * s.buffer
		} else if !first {
			sum += s.buffer
		}
		first = false
	}
	return sum
}
