//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var fleetSpaces = flag.Bool("fleet.spaces", false,
	"TestFleetSpaces: a head and two workers in network namespaces whose links are cut (make fleet-spaces, as root)")

// spaces are network namespaces that stand for hosts, each with a link to a switch, which is one too. Host i has the
// address 10.77.0.i+1.
type spaces struct {
	t     *testing.T
	names []string
	hub   string
	self  string // this program under the name trinity
	mends sync.WaitGroup
}

// newSpaces makes namespaces and links, which the test's end removes.
func newSpaces(t *testing.T, hosts int) *spaces {
	s := &spaces{t: t, hub: fmt.Sprintf("trinity%d-switch", os.Getpid()), self: filepath.Join(t.TempDir(), "trinity")}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, s.self); err != nil {
		t.Fatal(err)
	}
	s.ip("netns", "add", s.hub)
	t.Cleanup(func() { s.ip("netns", "del", s.hub) })
	s.ip("-n", s.hub, "link", "add", "br0", "type", "bridge")
	s.ip("-n", s.hub, "link", "set", "br0", "up")
	for i := range hosts {
		name := fmt.Sprintf("trinity%d-%d", os.Getpid(), i)
		s.names = append(s.names, name)
		s.ip("netns", "add", name)
		t.Cleanup(func() { s.ip("netns", "del", name) })
		s.ip("-n", s.hub, "link", "add", s.port(i), "type", "veth", "peer", "name", "eth0", "netns", name)
		s.ip("-n", s.hub, "link", "set", s.port(i), "master", "br0", "up")
		s.ip("-n", name, "link", "set", "lo", "up")
		s.ip("-n", name, "link", "set", "eth0", "up")
		s.ip("-n", name, "address", "add", s.address(i)+"/24", "dev", "eth0")
	}
	return s
}

func (s *spaces) address(i int) string { return fmt.Sprint("10.77.0.", i+1) }

func (s *spaces) port(i int) string { return fmt.Sprint("host", i) }

// ip runs ip(8).
func (s *spaces) ip(args ...string) {
	s.t.Helper()
	if err := s.try(args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *spaces) try(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// set cuts or mends the links of hosts at the switch. The hosts do not see it.
func (s *spaces) set(hosts []int, state string) {
	for _, i := range hosts {
		if err := s.try("-n", s.hub, "link", "set", s.port(i), state); err != nil {
			s.t.Error(err)
		}
	}
}

// on has a command run on a host.
func (s *spaces) on(i int, cmd *exec.Cmd) *exec.Cmd {
	ip, err := exec.LookPath("ip")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Args = append([]string{"ip", "netns", "exec", s.names[i], s.self}, cmd.Args[1:]...)
	cmd.Path = ip
	return cmd
}

// TestFleetSpaces does what docs/fleet.md's first page says on three hosts with addresses and links of their own. One
// worker's link is cut in mid-run, then that of both while the head computes nothing itself, then the head's. The run
// goes on or waits, and has the metrics of the run alone.
func TestFleetSpaces(t *testing.T) {
	if !*fleetSpaces {
		t.Skip("needs root: make fleet-spaces")
	}
	home := t.TempDir()
	options := append(fleetOptions, "buffer.total_steps=8", "trainer.total_steps=8")
	if err := followSteps(t, trinity(home, append(options, "name=alone")...), func(int) {}); err != nil {
		t.Fatal(err)
	}
	s := newSpaces(t, 3)
	c := newCrew(t, home, "fleet")
	c.wrap = func(cmd *exec.Cmd) { s.on(c.made, cmd) }
	cmd := s.on(0, trinity(home, append(options, "name=fleet", "fleet.listen=0.0.0.0:4222", "fleet.local=false",
		"fleet.advertise="+s.address(0)+":4222")...))
	var joined sync.WaitGroup
	joined.Go(func() {
		for range 2 {
			c.join("--join", "nats://"+s.address(0)+":4222")
		}
	})
	last := time.Now()
	if err := followSteps(t, cmd, func(n int) {
		t.Logf("step %d after %.1f s", n, time.Since(last).Seconds())
		last = time.Now()
		switch n {
		case 2:
			s.cut(5*time.Second, 1)
		case 4:
			s.cut(8*time.Second, 1, 2)
		case 6:
			s.cut(8*time.Second, 0)
		}
	}); err != nil {
		t.Fatalf("%v; the workers said:\n%s", err, c.said)
	}
	joined.Wait()
	s.mends.Wait() // workers that are cut off do not hear that they may leave
	sameJobs(t, home, "alone", "fleet")
	if n := c.leave(); n == 0 {
		t.Errorf("the workers computed nothing; they said:\n%s", c.said)
	} else {
		t.Logf("the workers computed %d tasks; they said:\n%s", n, c.said)
	}
}

// cut cuts links of hosts and mends them after d, while the run goes on.
func (s *spaces) cut(d time.Duration, hosts ...int) {
	s.set(hosts, "down")
	s.t.Logf("hosts %v are cut off for %v", hosts, d)
	s.mends.Go(func() {
		time.Sleep(d)
		s.set(hosts, "up")
	})
}
