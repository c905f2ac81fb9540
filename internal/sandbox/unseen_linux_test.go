package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// python runs a program of Python that prints what it holds of a line of /proc/meminfo, in MiB.
func python(t *testing.T, b *Box, l Limits, line, script string) Result {
	t.Helper()
	said, err := exec.Command("python3", "-c", `import sys; print(sys.executable, sys.base_prefix)`).Output()
	if err != nil {
		t.Skip("there is no python3")
	}
	var path, dir string
	if _, err := fmt.Sscan(string(said), &path, &dir); err != nil {
		t.Fatal(err)
	}
	r, err := b.Run(t.Context(), Job{ReadOnly: []string{dir}, Args: []string{path, "-I", "-c", `
import ctypes, mmap, os, signal, socket, sys, time
def held():
	with open("/proc/meminfo") as f:
		return int([l for l in f if l.startswith("` + line + `:")][0].split()[1]) >> 10
before = held()
` + script + `
print("held", held() - before, flush=True)
`}, Env: []string{"PATH=/usr/bin:/bin"}, Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s%.300s %v", line, r.Stdout, r.Stderr, r.Why(l))
	return r
}

// What was sent and not read is in no process.
func TestMemoryOfSockets(t *testing.T) {
	b := openBox(t)
	if blind(b) {
		t.Skip("nobody counts sockets: ", b)
	}
	for name, kind := range map[string]string{"streams": "socket.SOCK_STREAM", "datagrams": "socket.SOCK_DGRAM"} {
		r := python(t, b, Limits{Memory: 256 << 20, Wall: time.Minute, CPU: time.Minute}, "SUnreclaim", `
kept = []
def fill():
	try:
		for _ in range(120):
			pair = socket.socketpair(socket.AF_UNIX, `+kind+`)
			kept.append(pair)
			for s in pair:
				s.setblocking(False)
				try:
					while True: s.send(bytes(65000))
				except BlockingIOError: pass
	except OSError as e: print(e)
told, tell = os.pipe()
for _ in range(28):
	if os.fork() == 0:
		fill()
		os.write(tell, b"x")
		time.sleep(1000)
for _ in range(28): os.read(told, 1)
`)
		if r.Stopped != StopMemory {
			t.Errorf("%s: %+v", name, r.Why(Limits{}))
		}
	}
	if r := python(t, b, Limits{Memory: 256 << 20}, "SUnreclaim", `
import asyncio
async def main():
	a, b = socket.socketpair()
	r, w = await asyncio.open_connection(sock=a)
	b.send(b"fine\n")
	print(await r.readline())
	l = socket.create_server(("127.0.0.1", 0))
	l.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
	for level, name in [(socket.SOL_SOCKET, socket.SO_SNDBUF), (socket.SOL_SOCKET, socket.SO_RCVBUF),
			(socket.SOL_SOCKET, 26), (socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP)]:
		try: l.setsockopt(level, name, 1 << 20); print("set", level, name)
		except PermissionError: pass
asyncio.run(main())
`); !r.OK() || !strings.HasPrefix(string(r.Stdout), "b'fine\\n'\nheld") {
		t.Errorf("usual sockets: %s%s", r.Stdout, r.Stderr)
	}
}

// A page that is only read takes no memory, but a page table for each two megabytes around it does.
func TestMemoryOfPageTables(t *testing.T) {
	b := openBox(t)
	r := python(t, b, Limits{Memory: 64 << 20, Wall: time.Minute, CPU: time.Minute}, "PageTables", `
def read(n):
	m = mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
	for at in range(0, n, 2 << 20): m[at]
	return m
try: kept = read(400 << 30)
except OSError as e: print(e)
`)
	if r.OK() && !strings.Contains(string(r.Stdout), "Cannot allocate memory") {
		t.Errorf("800 MiB of page tables: %+v", r)
	}
	r = python(t, b, Limits{Memory: 256 << 20, Wall: time.Minute, CPU: time.Minute}, "PageTables", `
def read(n):
	m = mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
	for at in range(0, n, 2 << 20): m[at]
	return m
told, tell = os.pipe()
for _ in range(24):
	if os.fork() == 0:
		kept = []
		try:
			while len(kept) < 60: kept.append(read(256 << 20))
		except OSError: pass
		os.write(tell, b"x")
		time.sleep(1000)
for _ in range(24): os.read(told, 1)
`)
	held := 0
	fmt.Sscanf(string(r.Stdout), "held %d", &held)
	if r.Stopped != StopMemory && (held == 0 || held > 256) {
		t.Errorf("page tables of many processes: %s%s %q", r.Stdout, r.Stderr, r.Why(Limits{}))
	}
}

// Shared memory without a file stays while one page of it is mapped, and counts for no process that does not map it.
func TestSharedMemoryWithoutAFile(t *testing.T) {
	b := openBox(t)
	if len(without) > 0 {
		t.Skip(without)
	}
	r := python(t, b, Limits{Memory: 128 << 20, Disk: 4 << 20, Wall: time.Minute, CPU: time.Minute}, "Shmem", `
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
zero = os.open("/dev/zero", os.O_RDWR)
n = 64 << 20
for flags, fd in [(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, -1), (mmap.MAP_SHARED, zero)] * 5:
	at = libc.mmap(None, n, 3, flags, fd, 0)
	if at is None or at >= (1 << 64) - 4096:
		continue
	ctypes.memset(at, 1, n)
	libc.munmap(at + 4096, n - 4096)
	print("mapped", flags)
m = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m[0] = 1
with open("/dev/shm/x", "w+b") as f:
	f.truncate(4096)
	mmap.mmap(f.fileno(), 4096)[0] = 1
print(os.read(zero, 2))
`)
	got := string(r.Stdout)
	if !r.OK() || strings.Contains(got, "mapped") || !strings.HasPrefix(got, `b'\x00\x00'`) {
		t.Errorf("%s%s %s", got, r.Stderr, r.Why(Limits{}))
	}
}

// Calls that this program does not know are missing.
func TestUnknownCalls(t *testing.T) {
	b := openBox(t)
	if len(without) > 0 {
		t.Skip(without)
	}
	r := python(t, b, Limits{}, "MemFree", `
libc = ctypes.CDLL(None, use_errno=True)
for nr in [*range(457, 480), 1000, 1 << 20]:
	ctypes.set_errno(0)
	if libc.syscall(ctypes.c_long(nr), 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 38:
		print("call", nr, "gives", ctypes.get_errno())
`)
	if !r.OK() || strings.Contains(string(r.Stdout), "call") {
		t.Errorf("%s%s", r.Stdout, r.Stderr)
	}
}

// Where there are cgroups, what the kernel holds for a program counts without anybody's knowing what it is.
func TestCgroup(t *testing.T) {
	b := openBox(t)
	if b.cgroups == nil {
		t.Skip("this user may make no memory cgroups here")
	}
	r := python(t, b, Limits{Memory: 128 << 20}, "Shmem", `print(open("/proc/self/cgroup").read())`)
	if !r.OK() {
		t.Errorf("a small program: %s%s %s", r.Stdout, r.Stderr, r.Why(Limits{}))
	}
	if _, name, ok := strings.Cut(string(r.Stdout), cgroupName); ok {
		name, _, _ = strings.Cut(name, "\n")
		if _, err := os.Stat(filepath.Join(b.cgroups.parent, cgroupName+name)); !os.IsNotExist(err) {
			t.Errorf("the cgroup of a run that has ended: %v", err)
		}
	} else if !b.cgroups.unified {
		t.Errorf("it runs in %s", r.Stdout)
	}
	one, err := b.cgroups.make(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "read go; tail /dev/zero")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := one.holds(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := began(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	in.Write([]byte("go\n"))
	if err := cmd.Wait(); err == nil || !one.killed() {
		t.Errorf("a program above the limit ends with %v, killed: %v", err, one.killed())
	}
	if err := one.remove(); err != nil {
		t.Error(err)
	}
}
