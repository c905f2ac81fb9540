package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain makes this test binary a program that opens sandboxes, and one that is killed in the middle of a run.
func TestMain(m *testing.M) {
	if code, is := Stage(os.Args); is {
		os.Exit(code)
	}
	if len(os.Args) == 3 && os.Args[1] == "run-in-sandbox" {
		os.Exit(helper(os.Args[2]))
	}
	os.Exit(m.Run())
}

// helper runs a shell script in a sandbox, as a program that may be killed.
func helper(script string) int {
	b, err := Open(context.Background(), Options{Staged: true})
	if err == nil {
		_, err = b.Run(context.Background(), Job{Args: []string{"/bin/sh", "-c", script},
			Limits: Limits{Wall: time.Minute}})
	}
	fmt.Println(err)
	return 1
}

// openBox opens a sandbox or skips the test with the reason why there is none.
func openBox(t testing.TB) *Box {
	t.Helper()
	b, err := Open(t.Context(), Options{Staged: true})
	if errors.Is(err, ErrRefused) {
		t.Skip("this machine has no sandbox: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sh runs a shell script.
func sh(t testing.TB, b *Box, l Limits, script string) Result {
	t.Helper()
	r, err := b.Run(t.Context(), Job{Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
		Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// processes are the command lines on this machine that contain a text.
func processes(t testing.TB, text string) (found []string) {
	t.Helper()
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc to look for processes in: ", err)
	}
	for _, d := range dirs {
		line, err := os.ReadFile("/proc/" + d.Name() + "/cmdline")
		if err == nil && strings.Contains(string(line), text) {
			found = append(found, d.Name()+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
