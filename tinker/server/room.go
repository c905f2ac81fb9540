package server

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// freeSpace is the last measurement of the disk; s.mu guards it.
type freeSpace struct {
	bytes int64
	at    time.Time
}

// lookEvery limits how often the disk is measured.
const lookEvery = time.Second

// crowded refuses a request of that many tokens while the Backend's queue of its kind is full.
func (s *Server) crowded(work tinker.Work, tenant string, tokens int) error {
	b, ok := s.opts.Store.(tinker.Bounded)
	if !ok {
		return nil
	}
	err := b.Room(work, tenant, tokens)
	if err != nil {
		s.stats.pushedBack.Inc()
	}
	return err
}

// writable returns nil when accepted requests can be made durable. After a failed write it tries again, so that the
// server continues when there is space again.
func (s *Server) writable() error {
	err := errors.Join(s.log.Heal(), s.backend.Heal())
	if err == nil {
		return nil
	}
	s.opts.Log.Error("the data folder cannot be written", "error", err)
	return unwritable(err)
}

// unwritable is the error of a failed write as clients see it: the reason without the path.
func unwritable(err error) error {
	var reason syscall.Errno
	if errors.As(err, &reason) {
		err = reason
	} else {
		err = errors.New("writing failed")
	}
	return fmt.Errorf("the server's data folder cannot be written (%w); accepted requests are safe, and the server "+
		"continues when there is space", err)
}

// room refuses new work while the disk is nearly full, to keep space for what was accepted.
func (s *Server) room() error {
	if s.ctx.Err() != nil {
		return statusAfter(http.StatusServiceUnavailable,
			fmt.Errorf("the server is closing; it continues after its next start"), time.Second)
	}
	if err := s.writable(); err != nil {
		return statusAfter(http.StatusInsufficientStorage, err, 10*time.Second)
	}
	if s.opts.Free == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.opts.Now(); now.Sub(s.free.at) > lookEvery {
		n, err := s.opts.Free()
		if err != nil {
			return fmt.Errorf("server: free space of %s: %w", s.opts.Dir, err)
		}
		s.free = freeSpace{n, now}
	}
	if s.free.bytes < s.opts.MinFree {
		return statusAfter(http.StatusInsufficientStorage,
			fmt.Errorf("the disk of %s has %d MiB left, less than the %d MiB kept free: delete checkpoints (tinker "+
				"checkpoint delete) or free some space; nothing accepted is lost",
				s.opts.Dir, s.free.bytes>>20, s.opts.MinFree>>20), 10*time.Second)
	}
	return nil
}
