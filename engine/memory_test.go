package engine

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func newRun(e *Engine, owner string, seq int64, rank int) (tinker.TrainingClient, error) {
	return e.CreateModel(context.Background(), tinker.CreateModelRequest{SessionID: owner, ModelSeqID: seq,
		BaseModel: baseName, LoRA: lora(rank), Owner: owner})
}

// A tenant that makes runs until the memory is full gets three quarters. Another tenant still finds room, and unloaded
// memory can be reserved again.
func TestMemoryOfRunsIsBounded(t *testing.T) {
	probe := open(t, Options{})
	one := probe.memory.Find(baseName).RunBytes(lora(8))
	e := open(t, Options{Memory: 16 * one})
	made := int64(0)
	var err error
	for ; err == nil && made < 20; made++ {
		_, err = newRun(e, "a", made, 8)
	}
	if made--; made != 12 || !errors.Is(err, tinker.ErrBusy) || tinker.CategoryOf(err) != tinker.Server ||
		!strings.Contains(err.Error(), "unload a model") {
		t.Errorf("one owner got %d runs of 16, then %v", made, err)
	}
	for seq := range int64(2) {
		if _, err := newRun(e, "b", seq, 8); err != nil {
			t.Fatalf("another owner's run %d: %v", seq, err)
		}
	}
	if _, err := newRun(e, "b", 2, 8); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("another owner's third: %v", err)
	}
	for seq := range int64(3) {
		f, err := e.UnloadModel(testContext(t), modelID("a", seq))
		value(t, f, err)
	}
	if _, err := newRun(e, "b", 2, 8); err != nil {
		t.Errorf("after others have gone: %v", err)
	}
	if used, total := e.Memory(); used != 12*one || total != 16*one {
		t.Errorf("%d of %d bytes are accounted for, want %d", used, total, 12*one)
	}
	if err := e.RoomForModel(tinker.CreateModelRequest{BaseModel: baseName, LoRA: lora(8),
		Owner: "a"}); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("room for one more of the first owner: %v", err)
	}
}

func TestRanksAreBounded(t *testing.T) {
	e := open(t, Options{Memory: 1 << 20})
	for rank, want := range map[int]string{257: "take a rank of 1 to 256", 4096: "take a rank of 1 to 256",
		32: "take a lower rank"} {
		_, err := newRun(e, "a", int64(rank), rank)
		if tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(), want) {
			t.Errorf("rank %d: %v, want %q", rank, err, want)
		}
	}
	if used, _ := e.Memory(); used != 0 {
		t.Errorf("%d bytes are accounted for, and nothing was made", used)
	}
}

// The estimate for a run is not less than what it takes on the heap, and not far more.
func TestRunBytes(t *testing.T) {
	c := map[string]any{"vocab_size": 2000, "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
		"num_key_value_heads": 2, "head_dim": 32,
		"intermediate_size": 256, "max_position_embeddings": context_}
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: writeShape(t, true, true, c, 1), Tokens: letters{}}}})
	first, err := newRun(e, "a", 0, 32) // loads the base and fills what all runs share
	if err != nil {
		t.Fatal(err)
	}
	train(t, first, 1, mixed...)
	for _, rank := range []int{1, 32} {
		const runs = 10
		before := heapNow()
		for seq := range int64(runs) {
			m, err := newRun(e, "a", int64(rank)*runs+seq, rank)
			if err != nil {
				t.Fatal(err)
			}
			f, err := m.ForwardBackward(testContext(t), batch(mixed...))
			value(t, f, err)
		}
		took, estimated := (heapNow()-before)/runs, e.memory.Find(baseName).RunBytes(lora(rank))
		t.Logf("rank %d: %d bytes estimated, %d taken", rank, estimated, took)
		if took > estimated*11/10 || took < estimated/3 { // other goroutines allocate too
			t.Errorf("rank %d: %d bytes were estimated, %d taken", rank, estimated, took)
		}
	}
}

func heapNow() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Sampling clients of one checkpoint are accounted for once, until the last is closed or collected. Beyond the budget
// a client is refused.
func TestMemoryOfSamplersIsBounded(t *testing.T) {
	probe := open(t, Options{})
	b := probe.memory.Find(baseName)
	one, version := b.RunBytes(lora(8)), model.LoRA{Rank: 8, Attn: true, MLP: true, Unembed: true}.PackedBytes(b.Config)
	e := open(t, Options{Memory: (one+2*version)*4/3 + 64})
	m, err := newRun(e, "a", 0, 8)
	if err != nil {
		t.Fatal(err)
	}
	client := func(path string) (tinker.SamplingClient, error) {
		return e.SamplingClient(testContext(t), tinker.SamplingClientRequest{ModelPath: path, Owner: "a"})
	}
	var paths []string
	var clients []tinker.SamplingClient
	for _, name := range []string{"x", "y", "z"} {
		train(t, m, 1, mixed...)
		f, err := m.SaveWeightsForSampler(testContext(t), tinker.SaveRequest{Name: name})
		paths = append(paths, value(t, f, err).Path)
	}
	for _, path := range []string{paths[0], paths[1], paths[0]} {
		c, err := client(path)
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	if used, _ := e.Memory(); used != one+2*version {
		t.Errorf("%d bytes are accounted for, want a run's %d and two versions of %d", used, one, version)
	}
	if _, err := client(paths[2]); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("a third version: %v", err)
	}
	clients[0].(io.Closer).Close()
	if _, err := client(paths[2]); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("a third version while the first still has a client: %v", err)
	}
	clients[2].(io.Closer).Close()
	clients[2].(io.Closer).Close() // once more does nothing
	if _, err := client(paths[2]); err != nil {
		t.Errorf("a third version after the first has gone: %v", err)
	}
	runtime.KeepAlive(clients)
	clients = nil
	until(func() bool { runtime.GC(); used, _ := e.Memory(); return used == one })
}

// A promised run is accepted although the budget is smaller now and its rank is too high for this version.
func TestPromisedRunsAreTaken(t *testing.T) {
	e := open(t, Options{Memory: 1})
	_, err := e.CreateModel(tinker.Promised(testContext(t)), tinker.CreateModelRequest{SessionID: "s",
		BaseModel: baseName, LoRA: lora(40)})
	if err != nil {
		t.Fatal(err)
	}
	if used, _ := e.Memory(); used != e.memory.Find(baseName).RunBytes(lora(40)) {
		t.Errorf("%d bytes are accounted for", used)
	}
}
