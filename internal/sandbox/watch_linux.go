package sandbox

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The file descriptors of a stage beside stdin, stdout and stderr.
const (
	ordersFD  = 3 // a spec or an entry; the watcher's stays open while its sender lives
	reportsFD = 4 // a report, or why a program could not be entered
	stderrFD  = 5 // the program's stderr; until it begins, the stderr of the stage enter is part of the report
)

// fewThreads makes the runtime of the stage enter start few threads: they are processes of its user, which are limited.
const fewThreads = "GOMAXPROCS=1"

// every is the time between two looks at what the processes use.
const every = 20 * time.Millisecond

// watch is the stage that is the first process of a sandbox.
func watch() int {
	orders, reports := os.NewFile(ordersFD, "orders"), os.NewFile(reportsFD, "reports")
	if orders == nil || reports == nil {
		return 2
	}
	unix.CloseOnExec(ordersFD)
	unix.CloseOnExec(reportsFD)
	go func() { // ignore signals from inside; the program keeps the system's defaults
		ignored := make(chan os.Signal, 1)
		signal.Notify(ignored)
		for range ignored {
		}
	}()
	var s spec
	if err := receive(orders, &s); err != nil {
		return 2
	}
	go func() { // the end of the pipe is the end of its sender
		_, _ = io.Copy(io.Discard, orders)
		os.Exit(3)
	}()
	w := &watcher{spec: &s}
	if err := w.run(); err != nil {
		w.report = report{Failed: err.Error()}
	}
	if send(reports, w.report) != nil {
		return 2
	}
	return 0
}

// How many times its memory a program may reserve as address space, and how many times if page tables are not counted.
const (
	reserves    = 16
	fewReserves = 4
)

// watcher runs the program and looks at what its processes use.
type watcher struct {
	*spec
	report  report
	blind   bool // there is no /proc
	begun   time.Time
	own     ownTime
	sockets sockets
}

func (w *watcher) run() error {
	notes, err := mountAll(w.spec)
	if err != nil {
		return err
	}
	w.report.Notes = strings.Join(append(notes, without...), "; ")
	for name, data := range w.Files {
		if err := os.WriteFile(filepath.Join("/tmp", name), data, 0o644); err != nil {
			return err
		}
	}
	_, err = os.Stat("/proc/self/stat")
	w.blind = err != nil
	if err := w.sockets.measure(); err != nil {
		return err
	}
	pid, err := w.start()
	if err != nil {
		return err
	}
	w.begun = time.Now()
	w.follow(pid)
	return nil
}

// start starts the program through the stage enter and returns its process once it is the program.
func (w *watcher) start() (pid int, err error) {
	e := entry{Args: w.Args, Env: w.Env, Limits: w.Limits, Reserve: reserves * w.Limits.Memory, UID: w.UID}
	if w.blind {
		e.Reserve, e.Limits.OpenFiles = fewReserves*w.Limits.Memory, min(w.Limits.OpenFiles, fewFiles)
	}
	if w.UID == 0 {
		e.Threads = 16
	}
	theirs, orders, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer orders.Close()
	answers, refusals, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer answers.Close()
	program := "/proc/self/exe"
	if w.blind {
		program = self
	}
	p, err := os.StartProcess(program, []string{self, stageEnter}, &os.ProcAttr{Dir: "/tmp", Env: []string{fewThreads},
		Files: []*os.File{os.Stdin, os.Stdout, refusals, theirs, refusals, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}})
	theirs.Close()
	refusals.Close()
	if err != nil {
		return 0, err
	}
	pid = p.Pid
	if err := errors.Join(p.Release(), send(orders, e)); err != nil {
		return 0, err
	}
	why, err := io.ReadAll(answers) // the program has no such descriptor, so this ends when it begins
	if len(why) > 0 {
		err = errors.Join(errors.New(string(why)), err)
	}
	return pid, err
}

// follow waits for the program, reaps what loses its parent, and kills all at a limit.
func (w *watcher) follow(pid int) {
	ended := make(chan unix.WaitStatus, 1)
	go reap(pid, ended)
	look := time.NewTicker(every)
	for {
		select {
		case status := <-ended:
			w.finish(status)
			return
		case <-look.C:
			w.report.Stopped = w.exceeded()
		}
		if w.report.Stopped != Ended {
			w.report.Exit, w.report.Signal, w.report.CPU = -1, int(unix.SIGKILL), w.use().cpu
			return // and with this process all others end
		}
	}
}

// reap waits for every child, and tells how the one ended.
func reap(pid int, ended chan<- unix.WaitStatus) {
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		if got == pid {
			ended <- status
		}
		if err == unix.ECHILD {
			return
		}
	}
}

// finish reports how the program ended.
func (w *watcher) finish(status unix.WaitStatus) {
	w.report.Exit = -1
	if status.Exited() {
		w.report.Exit = status.ExitStatus()
	}
	if status.Signaled() {
		w.report.Signal = int(status.Signal())
	}
	u := w.use()
	w.report.CPU, w.report.Left = u.cpu, u.processes
	if w.report.Signal == int(unix.SIGXCPU) || w.report.Signal == int(unix.SIGKILL) && u.cpu >= w.Limits.CPU {
		w.report.Stopped = StopCPU
	}
}
