package disk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMain lets a test start this program as a process that takes the lock named in its arguments and keeps it.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "hold-lock" {
		unlock, err := Lock{Path: os.Args[2]}.Take(context.Background())
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin) // until it is killed
		unlock()
	}
	os.Exit(m.Run())
}

// hold starts a process that has the lock.
func hold(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "hold-lock", path)
	_, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q", line)
	}
	return cmd
}

func TestLockRefusesASecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	other := hold(t, path)
	synctest.Test(t, func(t *testing.T) {
		told := 0
		begun := time.Now()
		_, err := Lock{Path: path, Grace: time.Minute, Exit: time.Hour, Wait: func(Holder) { told++ }}.Take(t.Context())
		host, _ := os.Hostname()
		if want := fmt.Sprintf("pid %d on host %s", other.Process.Pid, host); !errors.Is(err, ErrLocked) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v; want ErrLocked by %q", err, want)
		}
		if took := time.Since(begun); took < time.Minute || told != 1 {
			t.Errorf("refused after %v, told %d times; want the grace of a minute and once", took, told)
		}
	})
}

// TestLockOfAKilledProcess: a killed process does not keep its lock, even while it is a zombie.
func TestLockOfAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	other := hold(t, path)
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	unlock, err := Lock{Path: path, Exit: time.Minute}.Take(t.Context())
	if err != nil {
		t.Fatalf("%v", err)
	}
	if h := readHolder(path); h.PID != os.Getpid() {
		t.Errorf("the file names %v; want this process, %d", h, os.Getpid())
	}
	if _, err := (Lock{Path: path}).Take(t.Context()); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock in this process: %v; want ErrLocked", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if h := readHolder(path); h != (Holder{}) {
		t.Errorf("after unlock the file names %v", h)
	}
}

// TestLockWaitsForAKilledHolder: the system may hold the lock of a killed process for a while, since it frees the
// memory first. Here a child of the holder, which shares the open file, keeps it for a second.
func TestLockWaitsForAKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		err = lockFile(f)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	late := exec.Command("cat") // has the lock's file open until its input ends
	input, perr := late.StdinPipe()
	late.ExtraFiles = []*os.File{f}
	if err = errors.Join(err, perr, late.Start()); err != nil {
		t.Skip(err)
	}
	defer late.Wait()
	defer input.Close()
	killed := exec.Command(os.Args[0], "-test.run=^$")
	if err := killed.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(f, "%d\n", killed.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	told := 0
	l := Lock{Path: path, Grace: 100 * time.Millisecond, Exit: time.Minute, Wait: func(Holder) {
		told++
		input.Close()
	}}
	unlock, err := l.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if told != 1 {
		t.Errorf("the lock was taken after %d messages; want one, behind which its holder ends", told)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

func TestLockWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	hold(t, path)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := (Lock{Path: path, Grace: time.Hour}).Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v; want the context's", err)
		}
	})
}
