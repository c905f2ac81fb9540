package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// self is this program, as trinity, with a home.
func self(t testing.TB, home string) program.Program {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program.Program{Path: exe, Home: home}
}

// newServer prepares a server on a free port with its data below home; args are further flags.
func newServer(t testing.TB, home string, args ...string) *program.Server {
	t.Helper()
	s := self(t, home).Server(args...)
	t.Cleanup(s.Close)
	return s
}

// newRunning starts one.
func newRunning(t testing.TB, home string, args ...string) *program.Server {
	t.Helper()
	s := newServer(t, home, args...)
	start(t, s)
	return s
}

func start(t testing.TB, s *program.Server) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
}

// begin starts a command, which the test's end kills.
func begin(t testing.TB, cmd *exec.Cmd) *program.Process {
	t.Helper()
	p, err := program.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.Wait()
	})
	return p
}

// await waits until a process says something, and returns the match and its groups.
func await(t testing.TB, p *program.Process, pattern string) []string {
	t.Helper()
	found, err := p.Await(regexp.MustCompile(pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Ctrl-C leaves a game that waits for a move.
func TestPlayEndsAtInterrupt(t *testing.T) {
	t.Parallel()
	cmd := self(t, t.TempDir()).Command("gem", "play", "game:GuessTheNumber-v0-easy")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p := begin(t, cmd)
	await(t, p, "> ")
	p.Signal(os.Interrupt)
	err = p.Wait()
	if text := p.Said(); err != nil || !strings.Contains(text, "left after 0 turns") ||
		strings.Contains(text, "finishing") {
		t.Errorf("after Ctrl-C: %v, and it said:\n%s", err, text)
	}
}

// A server started right after kill -9 waits for the folder; one started beside a running server names its pid.
func TestServeStartsAtOnceAfterKill(t *testing.T) {
	t.Parallel()
	s := newServer(t, t.TempDir())
	for range 5 {
		start(t, s)
		s.Kill()
	}
	start(t, s)
	second := newServer(t, s.Home, "--data", filepath.Join(s.Home, "data"))
	p, err := second.Begin()
	if err != nil {
		t.Fatal(err)
	}
	await(t, p, fmt.Sprintf(`another server \(pid %d\D.*waiting`, s.Process().PID()))
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	await(t, p, `(?m)^data: `) // the folder is free
}
