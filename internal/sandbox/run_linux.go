package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run runs a job in a sandbox.
func (b *Box) run(ctx context.Context, j Job) (Result, error) {
	s := spec{Args: j.Args, Env: j.Env, Files: j.Files, Limits: j.Limits}
	for _, dir := range j.ReadOnly {
		from, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return Result{}, fmt.Errorf("sandbox: a folder to show: %w", err)
		}
		s.Show = append(s.Show, shown{from, filepath.Clean(dir)})
	}
	r := Result{}
	rep, err := b.stages(ctx, s, j, &r)
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %s: %w", b.kind, err)
	}
	if rep.Stopped == stopStarved {
		return Result{}, fmt.Errorf("sandbox: other programs had the processors for most of %v, and the program used "+
			"%v; run less on this machine, or allow more time", patience*j.Limits.Wall, rep.CPU)
	}
	r.Exit, r.Signal, r.Stopped, r.CPU, r.Left = rep.Exit, rep.Signal, rep.Stopped, rep.CPU, rep.Left
	return r, nil
}

// stages starts the first stage and waits until nothing of the run is left. It fills in output and wall time.
func (b *Box) stages(ctx context.Context, s spec, j Job, r *Result) (rep report, err error) {
	patient, cancel := context.WithTimeout(ctx, patience*j.Limits.Wall+grace) // the watcher itself ends it sooner
	defer cancel()
	out, errOut := &head{limit: j.Limits.Output}, &tail{limit: max(j.Limits.Output, 4096)}
	cmd, s, err := command(patient, s)
	if err != nil {
		return rep, err
	}
	own, err := b.ownCgroup(j)
	if err != nil {
		return rep, step("make a cgroup", err)
	}
	defer own.remove() // what is left is swept later
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = strings.NewReader(j.Stdin), out, errOut, grace
	begin := time.Now()
	rep, err = talk(cmd, s, own.holds(cmd))
	killed := own.killed()
	if killed && r != nil && errors.Is(err, io.EOF) { // the watcher too
		rep, err = report{Exit: -1, Signal: int(unix.SIGKILL)}, nil
	}
	if killed && (rep.Signal == int(unix.SIGKILL) || rep.Exit != 0) && rep.Stopped == Ended {
		rep.Stopped = StopMemory
	}
	switch {
	case ctx.Err() != nil:
		return rep, context.Cause(ctx)
	case patient.Err() != nil:
		return rep, errors.New("the sandbox did not end its program in time")
	case errors.Is(err, io.EOF) && r == nil:
		return rep, fmt.Errorf("it ended early: %s", bytes.TrimSpace(errOut.kept))
	case errors.Is(err, io.EOF):
		return rep, fmt.Errorf("its first process was killed, perhaps for want of memory: %s",
			bytes.TrimSpace(errOut.kept))
	case err != nil:
		return rep, err
	case rep.Failed != "":
		return rep, errors.New(rep.Failed)
	}
	if r != nil {
		*r = Result{Stdout: out.kept, Stderr: errOut.kept, StdoutCut: out.cut, StderrCut: errOut.cut,
			Wall: time.Since(begin)}
	}
	return rep, nil
}

// ownCgroup makes a cgroup for a run; nil if there are none.
func (b *Box) ownCgroup(j Job) (*cgroup, error) {
	if b.cgroups == nil {
		return nil, nil
	}
	limit := j.Limits.Memory + j.Limits.Disk + overhead
	for _, data := range j.Files {
		limit += 4 * int64(len(data)) // as the watcher reads and writes them
	}
	return b.cgroups.make(limit)
}

// talk starts a stage, tells it what to do and returns what it reports once it has ended. io.EOF: it reported nothing.
func talk(cmd *exec.Cmd, s spec, began func(pid int) error) (rep report, err error) {
	theirs, orders, err := os.Pipe()
	if err != nil {
		return rep, err
	}
	defer orders.Close()
	answers, reports, err := os.Pipe()
	if err != nil {
		return rep, errors.Join(err, theirs.Close())
	}
	defer answers.Close()
	cmd.ExtraFiles = []*os.File{theirs, reports} // 3 and 4
	err = cmd.Start()
	theirs.Close()
	reports.Close()
	if err != nil {
		return rep, err
	}
	if err := began(cmd.Process.Pid); err != nil {
		return rep, errors.Join(err, cmd.Process.Kill(), orders.Close(), cmd.Wait())
	}
	sent := make(chan error, 1)
	go func() { sent <- send(orders, s) }() // it ends with the stage at the latest: EPIPE
	heard := receive(answers, &rep)
	orders.Close()
	waited := cmd.Wait()
	serr := <-sent
	if serr != nil && heard != nil && !errors.Is(serr, syscall.EPIPE) && !errors.Is(serr, os.ErrClosed) {
		return rep, serr
	}
	if errors.Is(waited, exec.ErrWaitDelay) {
		return rep, waited
	}
	return rep, heard
}

// command makes the namespaces with their first process, the stage watch.
func command(ctx context.Context, s spec) (*exec.Cmd, spec, error) {
	id, apart, err := programID()
	if err != nil {
		return nil, s, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe") // also when the file was replaced
	cmd.Args, cmd.Env = []string{self, stageWatch}, []string{}
	own := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: own(os.Geteuid()), GidMappings: own(os.Getegid()),
		Setsid: true, Pdeathsig: syscall.SIGKILL,
	}
	if apart {
		other := syscall.SysProcIDMap{ContainerID: id, HostID: id, Size: 1}
		cmd.SysProcAttr.UidMappings = append(cmd.SysProcAttr.UidMappings, other)
		cmd.SysProcAttr.GidMappings = append(cmd.SysProcAttr.GidMappings, other)
		cmd.SysProcAttr.GidMappingsEnableSetgroups = true
		s.UID = id
	}
	return cmd, s, nil
}

// nobody is a user without rights on every system.
const nobody = 65534

// programID is the user that a program runs as: not ours if we may choose, as root may. The kernel does
// not count the processes of root.
func programID() (id int, apart bool, err error) {
	if os.Geteuid() != 0 {
		return 0, false, nil
	}
	for _, file := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		data, err := os.ReadFile(file)
		if err != nil {
			return 0, false, err
		}
		if !mapped(string(data), nobody) {
			if root := mappedTo(string(data), 0); root > 0 {
				return 0, false, nil // not the root of the machine, and alone in a namespace
			}
			return 0, false, fmt.Errorf("user %d, which programs run as, is not in %s; run as another user than root",
				nobody, file)
		}
	}
	return nobody, true, nil
}

// mapped reports whether an id is in a map of a user namespace.
func mapped(idMap string, id int) bool { return mappedTo(idMap, id) >= 0 }

// mappedTo is the id outside that a map of a user namespace gives an id inside; -1: none.
func mappedTo(idMap string, id int) int {
	for line := range strings.Lines(idMap) {
		var inside, outside, n int
		if _, err := fmt.Sscan(line, &inside, &outside, &n); err == nil && id >= inside && id-inside < n {
			return outside + id - inside
		}
	}
	return -1
}
