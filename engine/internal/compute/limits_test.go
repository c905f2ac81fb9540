package compute

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
)

// A pass keeps all its activations where that is no short pass, and else has as many tokens as fit recomputed.
func TestRoom(t *testing.T) {
	// of 135 million and of 4 billion parameters
	small := model.Config{Layers: 30, Dim: 576, Heads: 9, KVHeads: 3, HeadDim: 64, FF: 1536}
	large := model.Config{Layers: 36, Dim: 2560, Heads: 32, KVHeads: 8, HeadDim: 128, FF: 9728}
	for _, test := range []struct {
		name        string
		c           model.Config
		tape        int64
		micro       int
		first, want int
	}{
		{"kept", small, 1 << 30, 2048, 222, 739},
		{"as long as fits", small, 1 << 30, 2048, 739, 739},
		{"longer than fits", small, 1 << 30, 2048, 740, 2048},
		{"the limit is lower", small, 1 << 30, 300, 222, 300},
		{"short", small, 1 << 28, 2048, 20, 2048},
		{"short, and little room", small, 1 << 24, 2048, 20, 142},
		{"large", large, 1 << 30, 2048, 222, 1648},
	} {
		o := Limits{TapeBytes: test.tape, MicroBatch: test.micro}
		if got := o.Room(test.c, test.first); got != test.want {
			t.Errorf("%s: room for %d tokens, want %d", test.name, got, test.want)
		}
	}
}
