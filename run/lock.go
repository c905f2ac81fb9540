package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// lockGrace is how long a start waits for a process that is at work on the job: one that was told to end a moment
// ago. lockExit is the same for one that was killed, and whose memory the system is taking back.
const (
	lockGrace = 2 * time.Second
	lockExit  = time.Minute
)

// roles of a process in a job directory. Two processes may share it if they have none in common.
const (
	roleTrainer   = "trainer"
	roleExplorer  = "explorer-" // and its name
	roleStages    = "stages"
	roleBenchmark = benchmark
)

// lockRoles are what this process does for the job, in the order in which they are taken.
func (b *job) lockRoles() []string {
	var roles []string
	switch {
	case b.gem:
		return []string{roleTrainer}
	case b.cfg.Mode == config.Bench:
		return []string{roleBenchmark}
	}
	if b.cfg.Mode.Trains() {
		roles = append(roles, roleTrainer)
	}
	if b.cfg.Mode.Explores() || b.cfg.Mode.Serves() {
		roles = append(roles, roleExplorer+strings.Map(fileRune, b.cfg.Explorer.Name))
	}
	return roles
}

// lock keeps a second process with one of this one's roles out of the job directory, until the job is closed.
func (b *job) lock(ctx context.Context) error {
	for _, role := range b.lockRoles() {
		unlock, err := b.takeLock(ctx, b.dir, role)
		if err != nil {
			return err
		}
		b.opened(unlock)
	}
	return nil
}

// takeLock takes <dir>/lock/<role>.
func (o Options) takeLock(ctx context.Context, dir, role string) (unlock func() error, err error) {
	path := filepath.Join(dir, "lock", role)
	if err := o.fs.MkdirAll(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	ctx, cancel := o.whileWanted(ctx)
	defer cancel()
	l := disk.Lock{Path: path, Grace: lockGrace, Exit: lockExit,
		Wait: func(h disk.Holder) {
			fmt.Fprintf(o.Out, "waiting  another process (%v) is still the %s of %s\n", h, role, dir)
		},
		Unlocked: func(err error) {
			fmt.Fprintf(o.Out, "note: %s cannot be locked (%v): do not start two processes on it\n", dir, err)
		}}
	if unlock, err = l.Take(ctx); errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("run: job %s has a %s at work: %w; wait for that process or stop it, "+
			"or use another name for a new job", dir, role, err)
	}
	if err != nil {
		return nil, fmt.Errorf("run: job directory: %w", err)
	}
	return unlock, nil
}
