//go:build unix

package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain makes this test binary the programs of the tests.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCESS_TEST") {
	case "":
		goleak.VerifyTestMain(m)
	case "sleep":
		time.Sleep(time.Minute)
	case "family": // a child in the group and one that leaves it, and then it waits
		family()
		time.Sleep(time.Minute)
	case "parent": // the same, and it ends before them
		family()
	case "deaf": // it does not end when it is asked to
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("deaf")
		time.Sleep(time.Minute)
	case "eat":
		var all [][]byte
		for range 64 {
			block := make([]byte, 16<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			all = append(all, block)
		}
		fmt.Println(len(all))
	case "victim":
		victim()
	}
}

// family starts two children and prints all three ids.
func family() {
	var pids []string
	for _, setsid := range []bool{false, true} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PROCESS_TEST=sleep")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		pids = append(pids, fmt.Sprint(cmd.Process.Pid))
	}
	fmt.Println("family", os.Getpid(), strings.Join(pids, " "))
}

// victim starts a family and prints its ids, until it is killed.
func victim() {
	g := NewGuard()
	lines := make(chan string, 10)
	_, err := g.Start(Options{Command: []string{os.Args[0]}, Env: []string{"PROCESS_TEST=family"},
		Output: func(line string) { lines <- line }})
	if err != nil {
		panic(err)
	}
	fmt.Println(<-lines)
	time.Sleep(time.Minute)
}

type lines struct {
	mu   sync.Mutex
	list []string
	came chan string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, line)
	select {
	case l.came <- line:
	default:
	}
}

// start starts this test binary in a role.
func start(t *testing.T, g *Guard, role string, more func(*Options)) (*Process, *lines) {
	t.Helper()
	l := &lines{came: make(chan string, 100)}
	o := Options{Command: []string{os.Args[0]}, Env: []string{"PROCESS_TEST=" + role}, Output: l.add}
	if more != nil {
		more(&o)
	}
	p, err := g.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, l
}

func shell(t *testing.T, g *Guard, script string, more func(*Options)) (*Process, *lines) {
	t.Helper()
	return start(t, g, "", func(o *Options) {
		o.Command = []string{"/bin/sh", "-c", script}
		if more != nil {
			more(o)
		}
	})
}

// ids reads the line of a family.
func ids(t *testing.T, line string) (pids []int) {
	t.Helper()
	for _, f := range strings.Fields(line)[1:] {
		var pid int
		if _, err := fmt.Sscan(f, &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 3 {
		t.Fatalf("the family is %q", line)
	}
	if runtime.GOOS != "linux" { // who leaves the group is found on Linux alone
		syscall.Kill(pids[2], syscall.SIGKILL)
	}
	return pids
}

// ended waits until none of the processes runs. A zombie that waits for its parent has ended.
func ended(t *testing.T, what string, pids []int) {
	t.Helper()
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("%s: process %d ends", what, pid), func() bool { return !runs(pid) })
	}
}

// eventually waits until something holds that no event reports.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func files() int { list, _ := os.ReadDir("/proc/self/fd"); return len(list) }

func TestProcess(t *testing.T) {
	before := files()
	g := NewGuard()
	stdin := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(stdin, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p, l := shell(t, g, `read line; echo "$line $X"; echo wrong >&2; pwd; exit 3`, func(o *Options) {
		o.Stdin, o.Env, o.Dir = stdin, []string{"X=1", "X=2"}, "/"
	})
	<-p.Done()
	if p.Err() == nil || p.Err().Error() != "exit status 3" || p.Tail() != "hello 2\nwrong\n/" {
		t.Errorf("%v, tail %q", p.Err(), p.Tail())
	}
	if got := strings.Join(l.list, "|"); got != "hello 2|wrong|/" {
		t.Errorf("printed %q", got)
	}
	p.Kill(errors.New("late")) // of no effect
	p, _ = shell(t, g, "exit 0", nil)
	if <-p.Done(); p.Err() != nil {
		t.Error(p.Err())
	}
	for _, command := range []string{"/no/such/program", "no-such-program"} {
		_, err := g.Start(Options{Command: []string{command}})
		if err == nil || !strings.Contains(err.Error(), command) {
			t.Errorf("%s: %v", command, err)
		}
	}
	g.Close()
	if _, err := g.Start(Options{Command: []string{"/bin/sh"}}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if after := files(); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

// TestNothingOutlivesAProgram: its children are gone with it, also one that left its group.
func TestNothingOutlivesAProgram(t *testing.T) {
	g := NewGuard()
	defer g.Close()
	p, l := start(t, g, "parent", nil)
	pids := ids(t, <-l.came)
	<-p.Done()
	ended(t, "a program that ended", pids)

	p, l = start(t, g, "family", nil)
	pids = ids(t, <-l.came)
	why := errors.New("enough")
	p.Kill(why)
	if <-p.Done(); p.Err() != why {
		t.Errorf("killed: %v", p.Err())
	}
	ended(t, "a program that was killed", pids)

	p, l = start(t, g, "family", nil)
	pids = ids(t, <-l.came)
	g.Close()
	if <-p.Done(); !errors.Is(p.Err(), ErrClosed) {
		t.Errorf("closed: %v", p.Err())
	}
	ended(t, "a guard that was closed", pids)
}

func TestStop(t *testing.T) {
	g := NewGuard()
	defer g.Close()
	p, l := shell(t, g, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done", nil)
	<-l.came
	p.Stop(time.Minute)
	if p.Err() == nil || p.Err().Error() != "exit status 7" {
		t.Errorf("a program that listens: %v", p.Err())
	}
	p, l = start(t, g, "deaf", nil)
	<-l.came
	p.Stop(50 * time.Millisecond)
	if p.Err() == nil || !strings.Contains(p.Err().Error(), "did not end within") {
		t.Errorf("a deaf program: %v", p.Err())
	}
}

func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("RLIMIT_DATA is Linux's")
	}
	g := NewGuard()
	defer g.Close()
	p, l := start(t, g, "eat", func(o *Options) { o.Memory = 256 << 20 })
	<-p.Done()
	said := strings.Join(l.list, "\n")
	if p.Err() == nil || !strings.Contains(said, "memory") && !strings.Contains(said, "allocate") {
		t.Errorf("%v: %s", p.Err(), said)
	}
}

func TestOutputIsLimited(t *testing.T) {
	g := NewGuard()
	defer g.Close()
	p, l := shell(t, g, `i=0; while [ $i -lt 300 ]; do printf '%8000s\n' x; i=$((i+1)); done; echo end`, nil)
	<-p.Done()
	sum := 0
	for _, line := range l.list {
		sum += len(line)
	}
	last := l.list[len(l.list)-1]
	if sum > 2*burst || !strings.Contains(last, "bytes of output were dropped") || !strings.HasSuffix(p.Tail(), "end") {
		t.Errorf("%d bytes, then %q", sum, last)
	}
}

func TestTail(t *testing.T) {
	var all tail
	for range 10_000 {
		all.Write([]byte("a line of text\n"))
	}
	got := all.String()
	if len(got) > tailSize || !strings.HasPrefix(got, "a line") || !strings.HasSuffix(got, "text") {
		t.Errorf("%d bytes: %q…", len(got), got[:40])
	}
}

// TestPipes: a program that talks over pipes of its caller has its stderr logged, and nothing else.
func TestPipes(t *testing.T) {
	g := NewGuard()
	defer g.Close()
	p, l := shell(t, g, `read line; echo "heard $line"; echo note >&2`, func(o *Options) { o.Piped = true })
	defer p.Out.Close()
	fmt.Fprintln(p.In, "hello")
	p.In.Close()
	said, err := io.ReadAll(p.Out)
	<-p.Done()
	if string(said) != "heard hello\n" || err != nil || strings.Join(l.list, "|") != "note" || p.Tail() != "note" {
		t.Errorf("said %q, %v, logged %q, tail %q", said, err, l.list, p.Tail())
	}
}

// TestLeave ends a program by the end of its input, and one that does not look at its input all the same.
func TestLeave(t *testing.T) {
	g := NewGuard()
	defer g.Close()
	for _, c := range []struct {
		script, want string
		grace        time.Duration
	}{{"read line; exit 3", "exit status 3", time.Minute}, {"sleep 60", "", time.Millisecond}} {
		p, _ := shell(t, g, c.script, func(o *Options) { o.Piped = true })
		p.Leave(c.grace)
		p.Out.Close()
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.script, err, c.want)
		}
	}
}

// TestNothingOutlivesKill kills a program that has started a family.
func TestNothingOutlivesKill(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCESS_TEST=victim")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pids := ids(t, line)
	for _, pid := range pids[:2] {
		if !runs(pid) {
			t.Errorf("%d of %v does not run", pid, pids)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	ended(t, "a program that was killed", pids)
}
