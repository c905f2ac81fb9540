package load_test

import (
	"context"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

// owned is a service whose requests have one owner.
type owned struct {
	tinker.Service
	owner string
}

func (o owned) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	req.Owner = o.owner
	return o.Service.CreateModel(ctx, req)
}

func (o owned) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	req.Owner = o.owner
	return o.Service.SamplingClient(ctx, req)
}

// A small sample beside another owner's flood takes little longer than the longest part of training plus a few times
// its time alone.
func TestFlood(t *testing.T) {
	e := newEngine(t)
	small, err := load.New(t.Context(), owned{e, "small"}, "")
	if err != nil {
		t.Fatal(err)
	}
	flood, err := load.New(t.Context(), owned{e, "flood"}, "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := small.Flood(t.Context(), flood, load.Flood{Trainers: 4, Datums: 8, Tokens: 64, Ahead: 2, Samples: 32,
		Small: 100})
	if err != nil || len(r.Alone) != 100 || len(r.Beside) != 100 || r.Batches+r.Drawn == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	part := e.(*engine.Engine).Stats().LongestPart
	t.Logf("alone p50 %v, p99 %v; beside p50 %v, p99 %v; longest part %v; %d batches, %d samples", r.Alone.At(.5),
		r.Alone.At(.99), r.Beside.At(.5), r.Beside.At(.99),
		part, r.Batches, r.Drawn)
	if bound := 3*r.Alone.At(.99) + part; r.Beside.At(.5) > bound {
		t.Errorf("half of the small samples took %v or more beside a flood, more than %v", r.Beside.At(.5), bound)
	}
}
