package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// lockGrace is how long a start waits for a server that has the data folder and ends: longer than it may take to
// (shutdownWait). lockExit is the same for one that was killed, whose memory the system is taking back: that takes
// time with big models.
const (
	lockGrace = 6 * time.Second
	lockExit  = 2 * time.Minute
)

// lockFolder keeps a second server out of a data folder. Ctrl-C ends the wait.
func lockFolder(s *surroundings, dir string) (unlock func() error, err error) {
	ctx, cancel := s.untilStop()
	defer cancel()
	say := func(msg string) { fmt.Fprintln(s.err, msg) }
	l := disk.Lock{Path: filepath.Join(dir, "lock"), Grace: lockGrace, Exit: lockExit,
		Wait: func(h disk.Holder) {
			say(fmt.Sprintf("another server (%v) still has the data folder %s; waiting up to %v for it to end, or up to %v "+
				"if it was killed and has not wholly ended", h, dir, lockGrace, lockExit))
		},
		Unlocked: func(err error) {
			say(fmt.Sprintf("the data folder %s cannot be locked (%v): do not start a second server on it", dir, err))
		}}
	unlock, err = l.Take(ctx)
	if errors.Is(err, disk.ErrLocked) {
		return nil, fmt.Errorf("serve: another server has the data folder %s: %w; stop it, or give another --data", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return unlock, nil
}
