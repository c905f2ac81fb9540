package jobdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// LockGrace is how long a start waits for a process that is at work on the job: one that was told to end a moment
// ago. lockExit is the same for one that was killed, and whose memory the system is taking back.
const (
	LockGrace = 2 * time.Second
	lockExit  = time.Minute
)

// Roles of a process in a job directory. Two processes may share it if they have none in common.
const (
	Trainer = "trainer"
	Stages  = "stages"

	explorer = "explorer-" // and its name
)

// Roles lists the roles that a process of a configuration takes, in their order.
func Roles(cfg *config.Config) []string {
	if cfg.Mode == config.Bench {
		return []string{Benchmark}
	}
	var roles []string
	if cfg.Mode.Trains() {
		roles = append(roles, Trainer)
	}
	if cfg.Mode.Explores() || cfg.Mode.Serves() {
		roles = append(roles, explorer+disk.Name(cfg.Explorer.Name))
	}
	return roles
}

// Lock keeps a second process with one of the roles out of the folder, until unlock is called. It tells out when it
// has to wait.
func (d Dir) Lock(ctx context.Context, out io.Writer, roles ...string) (unlock func() error, err error) {
	var taken []func() error
	unlock = func() error {
		var errs []error
		for i := len(taken) - 1; i >= 0; i-- {
			errs = append(errs, taken[i]())
		}
		return errors.Join(errs...)
	}
	for _, role := range roles {
		one, err := d.take(ctx, out, role)
		if err != nil {
			return nil, errors.Join(err, unlock())
		}
		taken = append(taken, one)
	}
	return unlock, nil
}

// take takes lock/<role>.
func (d Dir) take(ctx context.Context, out io.Writer, role string) (unlock func() error, err error) {
	path := d.File("lock", role)
	if err := disk.MkdirAll(d.FS, filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	l := disk.Lock{Path: path, Grace: LockGrace, Exit: lockExit,
		Wait: func(h disk.Holder) {
			fmt.Fprintf(out, "waiting  another process (%v) is still the %s of %s\n", h, role, d.Path)
		},
		Unlocked: func(err error) {
			fmt.Fprintf(out, "note: %s cannot be locked (%v): do not start two processes on it\n", d.Path, err)
		}}
	if unlock, err = l.Take(ctx); errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("run: job %s has a %s at work: %w; wait for that process or stop it, "+
			"or use another name for a new job", d.Path, role, err)
	}
	if err != nil {
		return nil, fmt.Errorf("run: job directory: %w", err)
	}
	return unlock, nil
}
