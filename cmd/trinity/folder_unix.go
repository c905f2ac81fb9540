//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait bounds how long a start waits for the data folder: a server that was killed a moment ago holds it until the system has
// taken its memory back.
const lockWait = 5 * time.Second

// lockFolder keeps a second server out of a data folder. The lock ends with the process; its file has the holder's pid. say is told
// when it must wait.
func lockFolder(dir string, say func(string)) (unlock func(), err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for begun, told := time.Now(), false; ; time.Sleep(20 * time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Since(begun) > lockWait {
			f.Close()
			return nil, fmt.Errorf("serve: another server (%s) has the data folder %s (%w); stop it, or give another --data", holder(path), dir, err)
		}
		if !told && time.Since(begun) > lockWait/50 {
			say(fmt.Sprintf("another server (%s) still has the data folder %s; waiting up to %v for it to end", holder(path), dir, lockWait))
			told = true
		}
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("serve: %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// holder says who holds a lock file.
func holder(path string) string {
	raw, err := os.ReadFile(path)
	if pid := strings.TrimSpace(string(raw)); err == nil && pid != "" {
		return "pid " + pid
	}
	return "of an unknown pid"
}

// freeBytes is how much may still be written in a folder's file system.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
