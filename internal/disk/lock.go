package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("locked")

// Holder is the process that a lock's file names.
type Holder struct {
	PID  int    // 0: unknown
	Host string // empty: unknown
}

// String describes the process for a user.
func (h Holder) String() string {
	switch {
	case h.PID == 0:
		return "a process of an unknown pid"
	case h.Host == "":
		return fmt.Sprintf("pid %d", h.PID)
	}
	return fmt.Sprintf("pid %d on host %s", h.PID, h.Host)
}

// Lock is a process's exclusive lock of a file. The operating system holds the lock, so it ends with the process in
// any case; the file stays and names the holder by pid and host. On NFS the lock works across hosts unless the folder
// is mounted with local locks.
type Lock struct {
	Path string
	// Grace limits the wait for a live holder, and Exit the wait for a killed holder whose memory the system is still
	// freeing. 0 does not wait.
	Grace, Exit time.Duration
	Wait        func(Holder) // called once, when it must wait; may be nil
	// Unlocked is called when the file system has no locks, so that a second process is not excluded; may be nil.
	Unlocked func(error)
}

// lockPause is the time between two attempts.
const lockPause = 20 * time.Millisecond

// Take takes the lock. If another process holds it, the error wraps ErrLocked and names that process.
func (l Lock) Take(ctx context.Context) (unlock func() error, err error) {
	f, err := os.OpenFile(l.Path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = l.wait(ctx, f)
	if errors.Is(err, errors.ErrUnsupported) {
		if l.Unlocked != nil {
			l.Unlocked(err)
		}
		err = nil
	}
	if err == nil {
		err = sign(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(f.Truncate(0), f.Close()) }, nil
}

// wait tries until f has the lock or the time limit for its holder is over.
func (l Lock) wait(ctx context.Context, f *os.File) error {
	begun, told := time.Now(), false
	for {
		err := lockFile(f)
		if !errors.Is(err, ErrLocked) {
			return err
		}
		h, patience := readHolder(l.Path), l.Grace
		if here(h) && ending(h.PID) {
			patience = max(l.Grace, l.Exit)
		}
		waited := time.Since(begun)
		if waited >= patience {
			return fmt.Errorf("%w by %v (%s)", ErrLocked, h, l.Path)
		}
		if !told && waited > min(patience/10, 200*time.Millisecond) && l.Wait != nil {
			l.Wait(h)
			told = true
		}
		if err := pause.For(ctx, lockPause); err != nil {
			return err
		}
	}
}

// sign writes this process into the lock's file.
func sign(f *os.File) error {
	host, err := os.Hostname()
	if err != nil {
		host = "" // only the pid is known
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+" "+host+"\n"), 0)
	return err
}

func readHolder(path string) Holder {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Holder{}
	}
	pid, host, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return Holder{}
	}
	return Holder{PID: n, Host: host}
}

// here reports whether a holder runs on this host.
func here(h Holder) bool {
	host, err := os.Hostname()
	return err == nil && h.PID > 0 && (h.Host == "" || h.Host == host)
}
