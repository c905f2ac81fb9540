package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A folder keeps the order of products that it was begun with, whatever the processor would choose.
func TestFolderKeepsItsOrder(t *testing.T) {
	for _, order := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		dir := t.TempDir()
		for _, want := range []string{order.String(), ""} {
			e, err := Open(Options{Dir: dir, Threads: 1, Order: want})
			if err != nil {
				t.Fatal(err)
			}
			if id := e.NumericsID(); id != Numerics+"-"+order.String() {
				t.Errorf("begun %v, opened %q: numerics %s", order, want, id)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
		other := kernel.Sequential + kernel.Blocked - order
		if _, err := Open(Options{Dir: dir, Threads: 1, Order: other.String()}); err == nil ||
			tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(), order.String()) {
			t.Errorf("begun %v, asked for %v: %v", order, other, err)
		}
	}
}

func TestOrderIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(Options{Dir: dir, Order: "upward"}); err == nil || !strings.Contains(err.Error(), `"upward"`) {
		t.Errorf("order upward: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, orderFile), []byte("sideways\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), orderFile) ||
		!strings.Contains(err.Error(), "sideways") {
		t.Errorf("a damaged file: %v", err)
	}
}
