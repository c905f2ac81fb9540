package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// spaces are network namespaces that stand for hosts, each with a link to a switch, which is one too. Host i has the
// address 10.77.0.i+1.
type spaces struct {
	names []string
	hub   string
	self  string // the program under the name trinity
	mends sync.WaitGroup
	err   error // the first one
}

// newSpaces makes namespaces and links for hosts that run the program at path. remove removes them.
func newSpaces(hosts int, path, dir string) (s *spaces, remove func(), err error) {
	s = &spaces{hub: fmt.Sprintf("trinity%d-switch", os.Getpid()), self: filepath.Join(dir, "trinity")}
	if err := os.Symlink(path, s.self); err != nil {
		return nil, nil, err
	}
	s.ip("netns", "add", s.hub)
	s.ip("-n", s.hub, "link", "add", "br0", "type", "bridge")
	s.ip("-n", s.hub, "link", "set", "br0", "up")
	for i := range hosts {
		name := fmt.Sprintf("trinity%d-%d", os.Getpid(), i)
		s.names = append(s.names, name)
		s.ip("netns", "add", name)
		s.ip("-n", s.hub, "link", "add", port(i), "type", "veth", "peer", "name", "eth0", "netns", name)
		s.ip("-n", s.hub, "link", "set", port(i), "master", "br0", "up")
		s.ip("-n", name, "link", "set", "lo", "up")
		s.ip("-n", name, "link", "set", "eth0", "up")
		s.ip("-n", name, "address", "add", address(i)+"/24", "dev", "eth0")
	}
	if s.err != nil {
		s.remove()
		return nil, nil, fmt.Errorf("%w: run it as root", s.err)
	}
	return s, s.remove, nil
}

// remove removes what was made.
func (s *spaces) remove() {
	for _, name := range append(s.names, s.hub) {
		s.ip("netns", "del", name)
	}
}

func address(i int) string { return fmt.Sprint("10.77.0.", i+1) }

func port(i int) string { return fmt.Sprint("host", i) }

// ip runs ip(8).
func (s *spaces) ip(args ...string) { s.err = errors.Join(s.err, ip(args...)) }

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// on has a command run on a host.
func (s *spaces) on(i int, cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append([]string{"ip", "netns", "exec", s.names[i], s.self}, cmd.Args[1:]...)
	cmd.Path, cmd.Err = exec.LookPath("ip")
	return cmd
}

// cut cuts links of hosts at the switch and mends them after d, while the run continues. The hosts do not see it.
func (s *spaces) cut(d time.Duration, hosts ...int) {
	fmt.Printf("hosts %v are cut off for %v\n", hosts, d)
	s.set(hosts, "down")
	s.mends.Go(func() {
		time.Sleep(d)
		s.set(hosts, "up")
	})
}

func (s *spaces) set(hosts []int, state string) {
	for _, i := range hosts {
		if err := ip("-n", s.hub, "link", "set", port(i), state); err != nil {
			fmt.Fprintln(os.Stderr, "fleet-spaces:", err)
		}
	}
}
