// Package program runs trinity as a user does, in processes that an experiment kills and restarts, and compares what
// jobs leave behind. The programs beside it and the tests of cmd/trinity use it.
package program

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is the program trinity with a home of its own.
type Program struct {
	Path string // of the binary
	Home string // its home and working directory
}

// Main runs an experiment on the binary that the flag -trinity names, and ends the process with status 1 if it fails.
// The caller has defined the other flags.
func Main(name string, experiment func(Program) error) {
	binary := flag.String("trinity", "", "the program; empty builds bin/trinity")
	flag.Parse()
	err := errors.New("give no arguments")
	if flag.NArg() == 0 {
		err = with(*binary, experiment)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func with(binary string, experiment func(Program) error) error {
	p, remove, err := New(binary)
	if err != nil {
		return err
	}
	return errors.Join(experiment(p), remove())
}

// New returns the binary at path in a new temporary home, which remove deletes. It builds bin/trinity if path is "".
func New(path string) (p Program, remove func() error, err error) {
	if path == "" {
		path = filepath.Join("bin", "trinity")
		if err := Build(path); err != nil {
			return p, nil, err
		}
	}
	if path, err = filepath.Abs(path); err != nil {
		return p, nil, err
	}
	home, err := os.MkdirTemp("", "trinity-")
	return Program{Path: path, Home: home}, func() error { return os.RemoveAll(home) }, err
}

// Build builds a binary from the repository in the working directory. env is further environment, such as GOARCH=arm64.
func Build(path string, env ...string) error {
	cmd := exec.Command("go", "build", "-o", path, "./cmd/trinity")
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: run it from the root of the repository\n%s", err, out)
	}
	return nil
}

// Command is the program with arguments, away from the user's own files and servers.
func (p Program) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.Path)
	cmd.Args = append([]string{"trinity"}, args...)
	cmd.Dir = p.Home
	cmd.Env = append(os.Environ(), "HOME="+p.Home, "XDG_CACHE_HOME="+filepath.Join(p.Home, "cache"),
		"HF_HUB_OFFLINE=1", "TINKER_BASE_URL=", "TINKER_API_KEY=tml-test")
	return cmd
}

// Run runs the program to its end and returns what it said.
func (p Program) Run(args ...string) (string, error) {
	out, err := p.Command(args...).CombinedOutput()
	return string(out), err
}

// FreeAddress returns an unused port of this machine.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
