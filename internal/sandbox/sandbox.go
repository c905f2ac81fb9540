// Package sandbox runs an untrusted program, such as code that a model wrote, without network and without this
// machine's files, and bounds its time, memory, processes, files and output.
//
// A sandbox is a set of Linux namespaces. Open tries one, and refuses with the reason and the remedy if this user may
// not make it; only Kind None runs programs without isolation. A run has two stages, each a process of this program's
// own binary (Stage): the first process inside, which mounts and watches the limits, and one that drops all rights and
// becomes the program:
//
//	Box.Run → watch: mounts, files, limits of all processes together → enter: rlimits, capabilities, no_new_privs,
//	seccomp → the program
//
// When the first process inside ends, for whatever reason, the kernel kills all others. It ends with the program, at a
// limit, and when this process dies.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is a way to isolate a program.
type Kind string

// The kinds. None isolates nothing: it only bounds wall time and output.
const (
	Namespaces Kind = "namespaces"
	None       Kind = "none"
)

// ParseKind reads a kind of a configuration; "" and "auto" are Namespaces.
func ParseKind(s string) (Kind, error) {
	switch s {
	case "", "auto", string(Namespaces):
		return Namespaces, nil
	case string(None):
		return None, nil
	case "bubblewrap":
		return "", errors.New("sandbox: bubblewrap is not used since v0.3: the program makes the same namespaces " +
			"itself, as the same user; set sandbox to auto")
	}
	return "", fmt.Errorf("sandbox: unknown kind %q; it must be auto, namespaces or none", s)
}

// ErrRefused is wrapped by Open's error if programs cannot be isolated.
var ErrRefused = errors.New("no sandbox for untrusted code on this machine")

// refuse is Open's error: the reason and the remedy.
func refuse(reason, remedy string) error {
	return fmt.Errorf("sandbox: %w: %s; %s, or set sandbox to none to run the code unprotected, with all rights of "+
		"this user", ErrRefused, reason, remedy)
}

// Limits bound a run. A field that is 0 takes the value of DefaultLimits.
type Limits struct {
	Wall      time.Duration // from start to end, less the time in which other programs had the processors
	CPU       time.Duration // of all processes together
	Memory    int64         // bytes, of all processes together; also what each may write to, used or not
	Processes int           // at the same time, threads included
	Disk      int64         // bytes in the only writable folder, which is in memory
	OpenFiles int           // of each process
	Output    int           // bytes kept of stdout, and of stderr
}

// DefaultLimits are the limits of a short program.
func DefaultLimits() Limits {
	return Limits{Wall: 10 * time.Second, CPU: 10 * time.Second, Memory: 1 << 30, Processes: 32, Disk: 64 << 20,
		OpenFiles: 256, Output: 64 << 10}
}

// withDefaults fills in what is 0.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	fill(&l.Wall, d.Wall)
	fill(&l.CPU, d.CPU)
	fill(&l.Memory, d.Memory)
	fill(&l.Processes, d.Processes)
	fill(&l.Disk, d.Disk)
	fill(&l.OpenFiles, d.OpenFiles)
	fill(&l.Output, d.Output)
	return l
}

func fill[T ~int | ~int64](v *T, byDefault T) {
	if *v <= 0 {
		*v = byDefault
	}
}

// Job is a program to run once. It runs in its one writable folder, /tmp, which is empty but for Files.
type Job struct {
	Args     []string          // the program's path and its arguments
	Env      []string          // all of its environment
	Stdin    string            // what it reads
	Files    map[string][]byte // plain names → contents
	ReadOnly []string          // folders to see beside the system's, absolute
	Limits   Limits
}

// check refuses what cannot be run.
func (j *Job) check() error {
	if len(j.Args) == 0 {
		return errors.New("sandbox: a job without a program")
	}
	for name := range j.Files {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return fmt.Errorf("sandbox: the file name %q; it must be a plain name", name)
		}
	}
	for _, dir := range j.ReadOnly {
		if !strings.HasPrefix(dir, "/") || strings.Trim(dir, "/") == "" {
			return fmt.Errorf("sandbox: the folder %q; it must be an absolute path other than /", dir)
		}
	}
	return nil
}

// Options of Open.
type Options struct {
	Kind Kind // "" is Namespaces

	// Staged says that the main function of this program begins with Stage. Without it the program cannot be started
	// again as a stage: it would do its usual work. There is no sandbox then.
	Staged bool
}

// Box runs jobs, any number at once. It holds nothing that must be closed.
type Box struct {
	kind    Kind
	note    string
	cgroups *cgroups // nil: there are none
}

// Kind is how programs are isolated.
func (b *Box) Kind() Kind { return b.kind }

// String describes the sandbox in a line.
func (b *Box) String() string {
	if b.note == "" {
		return string(b.kind)
	}
	return string(b.kind) + " (" + b.note + ")"
}

// Run runs a job to its end. What the program does, and that it was stopped at a limit, is a Result; an error means
// that the sandbox failed, or that ctx ended. Nothing of the job runs any more when Run returns.
func (b *Box) Run(ctx context.Context, j Job) (Result, error) {
	j.Limits = j.Limits.withDefaults()
	if err := j.check(); err != nil {
		return Result{}, err
	}
	if b.kind == None {
		return runPlain(ctx, j)
	}
	return b.run(ctx, j)
}
