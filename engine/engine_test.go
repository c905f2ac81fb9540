package engine

import (
	"testing"

	"go.uber.org/goleak"

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
