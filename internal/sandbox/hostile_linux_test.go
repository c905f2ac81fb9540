package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestHello(t *testing.T) {
	b := openBox(t)
	r, err := b.Run(t.Context(), Job{Args: []string{"/bin/sh", "-c", "cat name; cat; pwd; echo $A; echo oh >&2"},
		Env: []string{"PATH=/usr/bin:/bin", "A=b c"}, Stdin: "from stdin\n",
		Files: map[string][]byte{"name": []byte("hello\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Stdout); got != "hello\nfrom stdin\n/tmp\nb c\n" || string(r.Stderr) != "oh\n" || !r.OK() {
		t.Errorf("stdout %q, stderr %q, %+v", got, r.Stderr, r)
	}
	if r := sh(t, b, Limits{}, "exit 7"); r.Exit != 7 || r.Why(Limits{}) != "ended with status 7" {
		t.Errorf("status %d, %q", r.Exit, r.Why(Limits{}))
	}
	_, err = b.Run(t.Context(), Job{Args: []string{"/no/such/program"}})
	if err == nil || !strings.HasSuffix(err.Error(), ": execute /no/such/program: no such file or directory") {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestTwiceAsDirtyFolder(t *testing.T) {
	b := openBox(t)
	sh(t, b, Limits{}, "echo left > /tmp/left")
	if r := sh(t, b, Limits{}, "ls -A /tmp"); len(r.Stdout) > 0 {
		t.Errorf("a run finds what another left: %s", r.Stdout)
	}
}

// The network of the machine cannot be reached, not even on the loopback.
func TestNoNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	connect := []string{"/bin/bash", "-c", "echo hi > /dev/tcp/127.0.0.1/" + port}
	if err := exec.Command(connect[0], connect[1:]...).Run(); err != nil {
		t.Skip("bash cannot connect outside of the sandbox either: ", err)
	}
	b := openBox(t)
	r, err := b.Run(t.Context(), Job{Args: connect})
	if err != nil {
		t.Fatal(err)
	}
	if r.OK() || !strings.Contains(string(r.Stderr), "Network is unreachable") &&
		!strings.Contains(string(r.Stderr), "Connection refused") {
		t.Errorf("a connection: %+v, %s", r, r.Stderr)
	}
	r = sh(t, b, Limits{}, "tail -n +3 /proc/net/dev")
	if devices := strings.Fields(string(r.Stdout)); len(devices) == 0 || devices[0] != "lo:" ||
		strings.Count(string(r.Stdout), "\n") != 1 {
		t.Errorf("network devices: %s%s, want lo alone", r.Stdout, r.Stderr)
	}
}

// Files of this machine cannot be read: the home, passwords, a job's folder.
func TestNoFilesOfTheHost(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("42"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := openBox(t)
	for _, path := range []string{home, "/etc/shadow", "/etc/ssh", secret, "/var/log", "/root", "/sys/kernel",
		"/proc/1/root/etc", "/proc/1/environ", "/proc/1/fd/3", "/dev/vda", "/dev/mem", "/proc/kcore"} {
		if r := sh(t, b, Limits{}, "cat "+path+" || ls "+path+"/"); r.Exit == 0 || len(r.Stdout) > 0 {
			t.Errorf("%s is readable: %q", path, r.Stdout)
		}
	}
	w := sh(t, b, Limits{}, "for f in /usr/x /etc/x /x /dev/x; do echo 1 > $f; [ -e $f ] && echo $f; done")
	if !strings.Contains(string(w.Stderr), "Read-only file system") || len(w.Stdout) > 0 {
		t.Errorf("the system is writable: %s%s", w.Stdout, w.Stderr)
	}
	w = sh(t, b, Limits{}, "find / /dev -xdev -type d -writable")
	if string(w.Stdout) != "/tmp\n" {
		t.Errorf("it can write to %s", w.Stdout)
	}
	r, err := b.Run(t.Context(), Job{Args: []string{"/bin/cat", secret}, ReadOnly: []string{filepath.Dir(secret)}})
	if err != nil || string(r.Stdout) != "42" {
		t.Errorf("a folder that was named: %q %s %v", r.Stdout, r.Stderr, err)
	}
	job := Job{Args: []string{"/bin/sh", "-c", "echo 43 > " + secret}, ReadOnly: []string{filepath.Dir(secret)}}
	if r, err := b.Run(t.Context(), job); err != nil || r.Exit == 0 {
		t.Errorf("a folder that was named can be written to: %+v %v", r, err)
	}
}

// A file that this process got from its own parent, and every child of it inherits, does not reach the program.
func TestNoInheritedFiles(t *testing.T) {
	fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0) // without O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b := openBox(t)
	r, err := b.Run(t.Context(), Job{Args: []string{"/bin/ls", "/proc/self/fd"}})
	if got := string(r.Stdout); err != nil || got != "0\n1\n2\n3\n" && !blind(b) { // 3 is the folder that ls reads
		t.Errorf("the program has the descriptors %q, %v", got, err)
	}
}

// The program has no rights and gets none.
func TestNoRights(t *testing.T) {
	b := openBox(t)
	r := sh(t, b, Limits{}, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
	for line := range strings.Lines(string(r.Stdout)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}[name]
		if want == "" {
			want = "0000000000000000"
		}
		if value != want {
			t.Errorf("%s is %s, want %s", name, value, want)
		}
	}
	for _, script := range []string{"mount -t tmpfs x /tmp", "unshare -Ur true", "hostname x", "kill -9 1",
		"kill -11 1", "chroot /tmp true", "mknod /tmp/x b 1 1"} {
		if r := sh(t, b, Limits{}, script); r.Exit == 0 || r.Stopped != Ended {
			t.Errorf("%s: %+v", script, r)
		}
	}
}

func TestEndlessLoop(t *testing.T) {
	b := openBox(t)
	l := Limits{Wall: 5 * time.Minute, CPU: 300 * time.Millisecond}
	r := sh(t, b, l, "while :; do :; done")
	if r.Stopped != StopCPU || r.CPU < l.CPU ||
		r.Why(l) != "stopped after 300ms of CPU time, the limit" {
		t.Errorf("a loop that computes: %+v, %q", r, r.Why(l))
	}
	r = sh(t, b, l, "(while :; do :; done)& (while :; do :; done)& wait")
	if r.Stopped != StopCPU && !blind(b) {
		t.Errorf("two loops: %+v", r)
	}
	l, r = patiently(t, b, Limits{}, "echo begun; sleep 1000", "begun")
	if r.Stopped != StopWall || string(r.Stdout) != "begun\n" ||
		r.Why(l) != fmt.Sprintf("stopped after %v, the limit of the wall time", l.Wall) {
		t.Errorf("a program that waits: %+v, %q", r, r.Why(l))
	}
}

// blind reports whether a sandbox is without /proc, as in a container that masks parts of it.
func blind(b *Box) bool { return strings.Contains(b.String(), "for each process alone") }

func TestForkBomb(t *testing.T) {
	b := openBox(t)
	_, r := patiently(t, b, Limits{Processes: 16},
		"f() { f | f & }; f; i=0; while [ $i -lt 60 ]; do sleep 1000 & i=$((i+1)); done; wait", "fork")
	if !strings.Contains(strings.ToLower(string(r.Stderr)), "fork") {
		t.Errorf("the program does not hear that it cannot fork: %+v\n%s", r, r.Stderr)
	}
	if r := sh(t, b, Limits{}, "echo fine"); string(r.Stdout) != "fine\n" {
		t.Errorf("after it: %+v", r)
	}
}

func TestDiskFilling(t *testing.T) {
	b := openBox(t)
	l := Limits{Disk: 4 << 20}
	r := sh(t, b, l, "for i in 1 2 3; do head -c 3000000 /dev/zero > /tmp/$i; done; cat /tmp/* | wc -c")
	if !strings.Contains(string(r.Stderr), "No space left on device") {
		t.Errorf("several files: %s%s", r.Stdout, r.Stderr)
	}
	var size int
	if _, err := fmt.Sscan(string(r.Stdout), &size); err != nil || size > 4<<20 {
		t.Errorf("%d bytes on a disk of 4 MiB", size)
	}
	r = sh(t, b, l, "head -c 5000000 /dev/zero > /tmp/a; ls -l /tmp/a; "+
		"i=0; while [ $i -lt 5000 ]; do true > /tmp/$i || break; i=$((i+1)); done; echo $i")
	said := string(r.Stderr)
	if !strings.Contains(said, "too large") && !strings.Contains(said, "No space") &&
		!strings.Contains(said, "limit") {
		t.Errorf("a file beyond the limit: %s%s", r.Stdout, said)
	}
	words := strings.Fields(string(r.Stdout))
	if n, err := strconv.Atoi(words[len(words)-1]); err != nil || n > 1024 {
		t.Errorf("%d files on a disk of 4 MiB", n)
	}
}

func TestMemoryBomb(t *testing.T) {
	b := openBox(t)
	l := Limits{Memory: 128 << 20}
	r := sh(t, b, l, "tail /dev/zero")
	if r.OK() || r.Stopped == StopWall {
		t.Errorf("one process: %+v %s", r, r.Stderr)
	}
	r = sh(t, b, l, "for i in 1 2 3 4; do { head -c 80000000 /dev/zero; sleep 20; } | "+
		"tail -c 80000000 & done; wait")
	if blind(b) {
		t.Skip("the processes of a sandbox cannot be looked at together: ", b)
	}
	if r.Stopped != StopMemory || r.Why(l) != "stopped at more than 128 MiB of memory, the limit" {
		t.Errorf("several processes: %+v %s", r, r.Stderr)
	}
}

// Memory that no process maps, and that the watcher therefore does not see, cannot be had. Shared memory is part of
// /tmp.
func TestUnseenMemory(t *testing.T) {
	calls := map[string]string{
		"memfd_create": fmt.Sprintf("%d, $name, 0", unix.SYS_MEMFD_CREATE),
		"memfd_secret": fmt.Sprintf("%d, 0", unix.SYS_MEMFD_SECRET),
		"shmget":       fmt.Sprintf("%d, 0, 4096, 01600", unix.SYS_SHMGET),
		"semget":       fmt.Sprintf("%d, 0, 32000, 01600", unix.SYS_SEMGET),
		"msgget":       fmt.Sprintf("%d, 0, 01600", unix.SYS_MSGGET),
	}
	b := openBox(t)
	if len(without) > 0 {
		t.Skip(without)
	}
	for name, args := range calls {
		r := sh(t, b, Limits{}, `perl -e 'my $name = "x"; print syscall(`+args+`), " ", $!'`)
		if strings.Contains(string(r.Stderr), "not found") {
			t.Skip("there is no perl")
		}
		if got := string(r.Stdout); got != "-1 Operation not permitted" {
			t.Errorf("%s: %s%s", name, got, r.Stderr)
		}
	}
	r := sh(t, b, Limits{Disk: 4 << 20}, "echo shared > /dev/shm/a && cat /dev/shm/a; "+
		"for i in 1 2 3; do head -c 3000000 /dev/zero > /dev/shm/$i; done; cat /dev/shm/? | wc -c")
	var text string
	var size int
	if _, err := fmt.Sscan(string(r.Stdout), &text, &size); err != nil || text != "shared" || size > 4<<20 {
		t.Errorf("shared memory beside a disk of 4 MiB: %q %s", r.Stdout, r.Stderr)
	}
}

// The limit of the memory counts what can be written; what can be reserved is sixteen times that. Both are set at the
// last moment: Go reserves more than a program may have, so the stage before the program could end for want of memory,
// and say so in the program's name.
func TestMemoryIsNotAddressSpace(t *testing.T) {
	b := openBox(t)
	r := sh(t, b, Limits{Memory: 512 << 20}, "ulimit -v; ulimit -d")
	if got := string(r.Stdout); got != "8388608\n524288\n" {
		t.Errorf("address space and data are limited to %q KiB", got)
	}
}

func TestMuchOutput(t *testing.T) {
	b := openBox(t)
	r := sh(t, b, Limits{Output: 1000, Wall: time.Minute, CPU: time.Minute},
		"head -c 1000000000 /dev/zero; head -c 20000000 /dev/zero >&2; echo last words >&2")
	if len(r.Stdout) != 1000 || r.StdoutCut != 1e9-1000 || !r.OK() {
		t.Errorf("1 GB of output: %d bytes are kept, %d cut, %+v", len(r.Stdout), r.StdoutCut, r.Why(Limits{}))
	}
	if !strings.HasSuffix(string(r.Stderr), "last words\n") || r.StderrCut < 1e7 {
		t.Errorf("stderr: %d bytes, %d cut", len(r.Stderr), r.StderrCut)
	}
}

// What a program leaves behind is killed, and stdout does not wait for it.
func TestLeftovers(t *testing.T) {
	b := openBox(t)
	mark := fmt.Sprintf("7%d.%d", os.Getpid(), time.Now().Nanosecond())
	r := sh(t, b, Limits{}, "(setsid nohup sleep "+mark+" &) ; sleep "+mark+" & echo done")
	if string(r.Stdout) != "done\n" || !r.OK() || r.Left < 1 {
		t.Errorf("%+v %s", r, r.Stderr)
	}
	if found := processes(t, mark); len(found) > 0 {
		t.Errorf("still running: %v", found)
	}
}

func TestSignals(t *testing.T) {
	b := openBox(t)
	for signal, name := range map[int]string{11: "SEGV", 9: "KILL", 15: "TERM"} {
		r := sh(t, b, Limits{}, "kill -"+name+" $$")
		if r.Signal != signal || r.Exit != -1 || r.Why(Limits{}) != fmt.Sprintf("ended by signal %d", signal) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	r := sh(t, b, Limits{}, "kill -TERM -1; echo alone") // all it may signal is itself
	if r.Signal != 15 && string(r.Stdout) != "alone\n" {
		t.Errorf("a signal to all: %+v", r)
	}
}

// A run whose context ends is over at once, with nothing left.
func TestCancel(t *testing.T) {
	b := openBox(t)
	mark := fmt.Sprintf("8%d.%d", os.Getpid(), time.Now().Nanosecond())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for len(processes(t, "sleep\x00"+mark)) < 2 && ctx.Err() == nil {
			runtime.Gosched()
		}
		cancel()
	}()
	_, err := b.Run(ctx, Job{Args: []string{"/bin/sh", "-c", "sleep " + mark + " & sleep " + mark}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if found := processes(t, mark); len(found) > 0 {
		t.Errorf("still running: %v", found)
	}
}

// The kill of this program leaves nothing of its sandboxes.
func TestKillOfTheParent(t *testing.T) {
	openBox(t)
	mark := fmt.Sprintf("9%d.%d", os.Getpid(), time.Now().Nanosecond())
	cmd := exec.Command("/proc/self/exe", "run-in-sandbox", "setsid sleep "+mark+" & sleep "+mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	running := func() int { return len(processes(t, "sleep\x00"+mark)) }
	defer cmd.Process.Kill()
	eventually(t, "two processes run in the sandbox", func() bool { return running() == 2 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "after kill -9 of the parent nothing runs", func() bool { return running() == 0 })
}

// eventually waits until something holds that no event reports.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// patiently runs an endless script until its time is over. It gives it twice the time if it did not come as far as to
// say a word.
func patiently(t *testing.T, b *Box, l Limits, script, word string) (Limits, Result) {
	t.Helper()
	for l.Wall = 300 * time.Millisecond; ; l.Wall *= 2 {
		r := sh(t, b, l, script)
		said := strings.ToLower(string(r.Stdout) + string(r.Stderr))
		if strings.Contains(said, word) || l.Wall > time.Minute {
			return l, r
		}
	}
}

// No descriptor and no process of a run is left in this program.
func TestNothingLeaks(t *testing.T) {
	b := openBox(t)
	sh(t, b, Limits{}, "true")
	before := descriptors(t)
	for range 20 {
		sh(t, b, Limits{}, "echo x")
		if _, err := b.Run(t.Context(), Job{Args: []string{"/nowhere"}}); err == nil {
			t.Fatal("/nowhere runs")
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d open files, before %d", after, before)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err == nil && len(children) > 0 {
		t.Errorf("child processes are left: %s", children)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestIDMaps(t *testing.T) {
	all, alone, part := "         0          0 4294967295\n", "0 1000 1\n", "0 1000 1\n1 100000 65536\n"
	for _, c := range []struct {
		idMap    string
		id, want int
	}{{all, nobody, nobody}, {alone, 0, 1000}, {alone, nobody, -1}, {part, nobody, 165533}, {"", 0, -1}} {
		if got := mappedTo(c.idMap, c.id); got != c.want {
			t.Errorf("%d in %q is %d, want %d", c.id, c.idMap, got, c.want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	box := openBox(b)
	for b.Loop() {
		sh(b, box, Limits{}, "true")
	}
}

// The refusal names the setting that forbids namespaces.
func TestRemedies(t *testing.T) {
	for setting, want := range map[string]string{
		"user/max_user_namespaces=0":                     "user.max_user_namespaces=10000",
		"kernel/unprivileged_userns_clone=0":             "kernel.unprivileged_userns_clone=1",
		"kernel/apparmor_restrict_unprivileged_userns=1": "profile trinity",
		"kernel/apparmor_restrict_unprivileged_userns=0": "seccomp=unconfined",
	} {
		dir := t.TempDir()
		name, value, _ := strings.Cut(setting, "=")
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := remedy(dir); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", setting, got, want)
		}
	}
	for _, err := range []error{unix.EPERM, unix.ENOSPC, errors.New("make mounts private: permission denied")} {
		if !forbidden(err) {
			t.Errorf("%v is not a lack of rights", err)
		}
	}
	if forbidden(nil) || forbidden(errors.New("it ended early")) {
		t.Error("another failure is a lack of rights")
	}
}

// A kernel or container without namespaces for this user is named as the reason. A user namespace in which the number
// of further ones is 0 stands for it.
func TestRefusedByTheKernel(t *testing.T) {
	inside := []string{"-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\""}
	if out, err := exec.Command("unshare", append(inside, "true")...).CombinedOutput(); err != nil {
		t.Skipf("no such namespace can be made here: %v: %s", err, out)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", append(inside, program, "run-in-sandbox", "true")...)
	out, _ := cmd.CombinedOutput()
	reason := "the kernel or the container gives this user no namespaces"
	if os.Geteuid() == 0 { // who has no user to change to there
		reason = "user 65534, which programs run as, is not in /proc/self/uid_map; run as another user than root"
	}
	for _, part := range []string{reason, "user", "set sandbox to none"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("it is refused with %q, want %q", out, part)
		}
	}
}
