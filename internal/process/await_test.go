//go:build unix

package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReady(t *testing.T) {
	g := NewGuard()
	defer g.Close()
	sign := filepath.Join(t.TempDir(), "ready")
	there := func(context.Context) bool { _, err := os.Stat(sign); return err == nil }
	p, _ := shell(t, g, "echo trying; exit 4", nil)
	want := "ended before it was ready: exit status 4; it printed last:\ntrying"
	if err := p.Ready(t.Context(), there); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	errLate := errors.New("late")
	ctx, cancel := context.WithCancelCause(t.Context())
	p, _ = shell(t, g, "sleep 60", nil)
	asked := 0
	err := p.Ready(ctx, func(context.Context) bool {
		if asked++; asked == 2 {
			cancel(errLate)
		}
		return false
	})
	if !errors.Is(err, errLate) || p.Err() != errLate {
		t.Errorf("%v, and the program ended with %v", err, p.Err())
	}
	p, _ = shell(t, g, "touch "+sign+"; sleep 60", nil)
	if err := p.Ready(t.Context(), there); err != nil {
		t.Error(err)
	}
}

func TestWait(t *testing.T) {
	g := NewGuard()
	defer g.Close()
	p, _ := shell(t, g, "exit 0", nil)
	if err := p.Wait(t.Context()); err != nil || p.End().Error() != "exit status 0" {
		t.Errorf("%v, %v", err, p.End())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, _ = shell(t, g, "sleep 60", nil)
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(p.Failure().Error(), "canceled") {
		t.Errorf("%v, %v", err, p.Failure())
	}
}
