package fake_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/fake"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/tinkertest"
)

var _ journal.Machine = (*fake.Service)(nil)

func open(t *testing.T, dir string) *fake.Service {
	t.Helper()
	s, err := fake.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"),
		Models: map[string]engine.Model{"tiny": {Dir: "../../examples/tiny/model"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	tinkertest.Run(t, func(t *testing.T) tinker.Service { return open(t, t.TempDir()) })
}

// A journal goes around the fake as around the engine.
func TestContractBelowAJournal(t *testing.T) {
	tinkertest.Run(t, func(t *testing.T) tinker.Service {
		dir := t.TempDir()
		j, err := journal.Open(context.Background(), filepath.Join(dir, "journal"), open(t, dir), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}
