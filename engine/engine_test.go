package engine

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/tinkertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	for _, m := range []struct {
		name       string
		bf16, tied bool
	}{{"bf16", true, true}, {"f32", false, false}} {
		dir := writeModel(t, m.bf16, m.tied)
		t.Run(m.name, func(t *testing.T) {
			tinkertest.Run(t, func(t *testing.T) tinker.Service {
				return open(t, Options{Models: map[string]Model{baseName: {Dir: dir, Tokens: letters{}}}})
			})
		})
	}
}

func TestKernels(t *testing.T) {
	options := Options{Dir: t.TempDir(), Threads: 1} // without a name: the best that passes its self-test
	e, err := Open(options)
	if err != nil || kernel.Detect() > kernel.Portable && e.Kernel() == kernel.Portable.String() {
		// which of the fast ones, the clock decides
		t.Fatalf("kernel %q on a machine that offers %s, %v", e.Kernel(), kernel.Detect(), err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	options.Kernel = "gpu"
	if _, err := Open(options); err == nil || tinker.CategoryOf(err) != tinker.User {
		t.Errorf("kernel gpu: %v", err)
	}
}
