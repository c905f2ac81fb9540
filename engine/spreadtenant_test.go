package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch/dispatchtest"
	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The pool hears whose work it is, of samples and of training.
func TestWorkOfTenants(t *testing.T) {
	t.Parallel()
	models := map[string]engine.Model{engine.BaseName: {Dir: engine.WriteModel(t, true, true),
		Tokens: engine.Letters{}}}
	carrier := dispatchtest.New(t, newWorkers(t, 1, "")...)
	var mu sync.Mutex
	heard := map[string]bool{}
	carrier.Hear = func(ctx context.Context) {
		mu.Lock()
		defer mu.Unlock()
		heard[executor.Tenant(ctx)] = true
	}
	e, ctx := open(t, models, carrier, true), engine.LongContext(t)
	c, err := e.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "s", BaseModel: engine.BaseName,
		LoRA: engine.LoRAOf(4), Owner: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.ForwardBackward(ctx, engine.Batch(engine.Tokens(1, 40), engine.Tokens(2, 40)))
	wait(t, f, err)
	s, err := e.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: engine.BaseName, Owner: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Sample(ctx, engine.SampleRequest(2, 4, 1, engine.Tokens(3, 10)))
	wait(t, out, err)
	if got := fmt.Sprint(slices.Sorted(maps.Keys(heard))); got != "[ada bob]" {
		t.Errorf("the pool heard of the tenants %s", got)
	}
}
