package engine

import (
	"fmt"
	"os"
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
	c := map[string]any{"vocab_size": 32000, "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
		"num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 1536, "max_position_embeddings": context_}
	e := open(t, Options{IdleAfter: 30 * time.Millisecond,
		Models: map[string]Model{baseName: {Dir: writeShape(t, true, true, c, 1), Tokens: letters{}}}})
	heapNow()
	e.reclaim(e.bases[baseName]) // what making the files left
	before := residentSet(t)
	time.Sleep(300 * time.Millisecond)
	before = residentSet(t)
	client := ofBase(t, e, baseName)
	draw(t, client, sampleRequest(1, 3, 1, mixed[0]))
	loaded, weights := residentSet(t)-before, e.BaseMemory()
	if loaded < weights*9/10 {
		t.Errorf("%d MiB more while %d MiB of weights are in memory", loaded>>20, weights>>20)
	}
	closeSampler(client)
	client = nil
	leaves(t, e, baseName)
	gone := func() int64 { return loaded - (residentSet(t) - before) }
	if back := gone(); !soon(func() bool { back = gone(); return back > weights*9/10 }) {
		t.Errorf("%d MiB came back of %d MiB of weights", back>>20, weights>>20)
	}
}
