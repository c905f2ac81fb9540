package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// process is a `trinity serve` process, to be killed and restarted.
type process struct {
	t    testing.TB
	args []string
	home string
	url  string

	cmd    *exec.Cmd
	errOut *lockedBuffer
	reaped sync.WaitGroup // killed processes that the system has not taken away yet
}

// lockedBuffer collects the output of a process.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// unusedAddress is an address of this machine that nobody listens at.
func unusedAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually waits until something is true that another process does.
func eventually(fatalf func(format string, args ...any), what string, is func() bool) {
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			fatalf("not within a minute: %s", what)
		}
	}
}

// newProcess prepares a server on a free port with its data below home; args are further flags.
func newProcess(t testing.TB, home string, args ...string) *process {
	t.Helper()
	addr := unusedAddress(t)
	p := &process{t: t, home: home, url: "http://" + addr, errOut: &lockedBuffer{},
		args: append([]string{"serve", "--addr", addr, "--data", filepath.Join(home, "data")}, args...)}
	t.Cleanup(func() {
		p.kill()
		p.reaped.Wait()
	})
	return p
}

// trinity runs this program as a process.
func trinity(home string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	if exe, err := os.Executable(); err == nil {
		cmd.Path = exe
	}
	cmd.Args = append([]string{"trinity"}, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "HF_HUB_OFFLINE=1",
		"TINKER_BASE_URL=", "TINKER_API_KEY=tml-test")
	return cmd
}

// start starts the server and returns when it has printed its greeting.
func (p *process) start() {
	p.t.Helper()
	if err := p.tryStart(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) tryStart() error {
	p.cmd = trinity(p.home, p.args...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.cmd.Stderr = p.errOut
	if err := p.cmd.Start(); err != nil {
		return err
	}
	greeting := make(chan string, 1)
	go func() {
		var text strings.Builder
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&text, lines.Text())
			if strings.HasPrefix(lines.Text(), "data: ") {
				greeting <- text.String()
			}
		}
		close(greeting)
	}()
	select {
	case text, ok := <-greeting:
		if !ok || !strings.Contains(text, "export TINKER_BASE_URL="+p.url) {
			return fmt.Errorf("the server ended or greeted with %q; it said:\n%s", text, p.errOut)
		}
		return nil
	case <-time.After(3 * time.Minute):
		return fmt.Errorf("no greeting within three minutes; the server said:\n%s", p.errOut)
	}
}

// kill ends the server as kill -9 does, without waiting for the system to clean up.
func (p *process) kill() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	cmd := p.cmd
	p.cmd = nil
	cmd.Process.Kill()
	p.reaped.Go(func() { cmd.Wait() })
}

// stop ends the server as Ctrl-C does.
func (p *process) stop() error {
	p.cmd.Process.Signal(os.Interrupt)
	err := p.cmd.Wait()
	p.cmd = nil
	return err
}

// Ctrl-C leaves a game that waits for a move.
func TestPlayEndsAtInterrupt(t *testing.T) {
	cmd := trinity(t.TempDir(), "gem", "play", "game:GuessTheNumber-v0-easy")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	said := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer kill.Stop()
	eventually(t.Fatalf, "the game asks for a move", func() bool { return strings.Contains(said.String(), "> ") })
	cmd.Process.Signal(os.Interrupt)
	err = cmd.Wait()
	if text := said.String(); err != nil || !strings.Contains(text, "left after 0 turns") ||
		strings.Contains(text, "finishing") {
		t.Errorf("after Ctrl-C: %v, and it said:\n%s", err, text)
	}
}

// A server started right after kill -9 waits for the folder; one started beside a running server names its pid.
func TestServeStartsAtOnceAfterKill(t *testing.T) {
	p := newProcess(t, t.TempDir())
	for range 5 {
		p.start()
		p.kill()
	}
	p.start()
	second := newProcess(t, p.home)
	second.args = append(second.args, "--data", filepath.Join(p.home, "data"))
	err := second.tryStart()
	said := second.errOut.String()
	pid := fmt.Sprintf("pid %d", p.cmd.Process.Pid)
	if err == nil || !strings.Contains(said, pid) || !strings.Contains(said, "waiting") {
		t.Errorf("beside a running server: %v; it said:\n%s", err, said)
	}
	if err := p.stop(); err != nil {
		t.Errorf("Ctrl-C: %v\n%s", err, p.errOut)
	}
}
