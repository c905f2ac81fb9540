package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// lockGrace is how long a start waits for another server on the data folder to end. It is longer than a shutdown takes
// (shutdownWait). lockExit is the same for a server that was killed while the system frees its memory, which takes time
// with big models.
const (
	lockGrace = 6 * time.Second
	lockExit  = 2 * time.Minute
)

// lockFolder prevents a second server on a data folder. Ctrl-C ends the wait.
func lockFolder(s *surroundings, dir string) (unlock func() error, err error) {
	ctx, cancel := s.untilStop()
	defer cancel()
	say := func(msg string) { fmt.Fprintln(s.err, msg) }
	l := disk.Lock{Path: filepath.Join(dir, "lock"), Grace: lockGrace, Exit: lockExit,
		Wait: func(h disk.Holder) {
			say(fmt.Sprintf("another server (%v) still uses the data folder %s; waiting up to %v for it to end, "+
				"or up to %v if it was killed and is still exiting", h, dir, lockGrace, lockExit))
		},
		Unlocked: func(err error) {
			say(fmt.Sprintf("cannot lock the data folder %s (%v): do not start a second server on it", dir, err))
		}}
	unlock, err = l.Take(ctx)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("serve: another server uses the data folder %s: %w; stop it, or choose another --data",
			dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return unlock, nil
}
