package engine

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

// residentSet is the process's memory in bytes.
func residentSet(t *testing.T) int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// The system gets the memory of a base model back when the model leaves.
func TestUnloadedWeightsGoBackToTheSystem(t *testing.T) {
	c := map[string]any{"vocab_size": 48000, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
		"num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 512, "max_position_embeddings": context_}
	e := open(t, Options{IdleAfter: 30 * time.Millisecond,
		Models: map[string]Model{baseName: {Dir: writeShape(t, true, true, c, 1), Tokens: letters{}}}})
	debug.FreeOSMemory() // what making the files left
	before := residentSet(t)
	client := ofBase(t, e, baseName)
	draw(t, client, sampleRequest(1, 3, 1, mixed[0]))
	debug.FreeOSMemory()
	loaded, weights := residentSet(t), e.BaseMemory()
	if loaded-before < weights*3/4 {
		t.Errorf("%d MiB more while %d MiB of weights are in memory", (loaded-before)>>20, weights>>20)
	}
	closeSampler(client)
	client = nil
	leaves(t, e, baseName)
	eventually(t, "the system has three quarters of the weights back", func() bool {
		return loaded-residentSet(t) > weights*3/4
	})
}
