package engine

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// An unloaded model's memory is released although its client still exists, and requests that wait for a missing one
// fail.
func TestUnloadFreesMemory(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(4))
	train(t, c, 1, mixed...)
	r := c.(*training.Run)
	v, g := weak.Make(r.Version), weak.Make(r.Grads)
	back, err := c.ForwardBackward(testContext(t), batch(mixed...)) // request 3
	if err != nil {
		t.Fatal(err)
	}
	late := batch(mixed[0])
	late.SeqID = 5
	waits, err := c.Forward(testContext(t), late)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.UnloadModel(testContext(t), "s:train:0")
	value(t, f, err)
	value(t, back, nil)
	if err := failure(t, waits, nil); !errors.Is(err, tinker.ErrUnloaded) {
		t.Errorf("a request that waited for request 4: %v", err)
	}
	if _, err := c.OptimStep(testContext(t), adam(1)); !errors.Is(err, tinker.ErrNotFound) ||
		!strings.Contains(err.Error(), "s:train:0: model was unloaded") {
		t.Errorf("a later request: %v", err)
	}
	if _, err := e.OpenModel(testContext(t), "s:train:0"); !errors.Is(err, tinker.ErrUnloaded) {
		t.Errorf("opened: %v", err)
	}
	if _, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{SessionID: "s", BaseModel: baseName,
		LoRA: lora(4)}); !errors.Is(err, tinker.ErrUnloaded) {
		t.Errorf("made again under its key: %v", err)
	}
	if w := e.Stats().Waiting[tinker.Training]; w != (tinker.Queue{}) {
		t.Errorf("%+v waits", w)
	}
	eventually(t, "weights and gradient are free", func() bool {
		runtime.GC()
		return v.Value() == nil && g.Value() == nil
	})
	runtime.KeepAlive(c)
}
