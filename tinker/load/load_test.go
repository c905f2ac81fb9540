package load_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

func newEngine(t *testing.T) tinker.Service {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: t.TempDir(),
		Models: map[string]engine.Model{"tiny": {Dir: "../../examples/tiny/model"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestLoad(t *testing.T) {
	l, err := load.New(t.Context(), newEngine(t), "")
	if err != nil || l.Base() != "tiny" {
		t.Fatal(l, err)
	}
	trip, err := l.Trip(t.Context(), 32)
	if err != nil {
		t.Fatal(err)
	}
	if err := trip.Go(t.Context(), 5); err != nil || len(trip.Times) != 5 || trip.Times.At(.5) <= 0 {
		t.Errorf("5 round trips took %v, %v", trip.Times, err)
	}
	runs, err := l.Runs(t.Context(), 3, 4)
	if err != nil || runs.Last >= runs.First {
		t.Errorf("runs: %+v, %v", runs, err)
	}
	burst, err := l.Burst(t.Context(), 20, 40)
	if err != nil || burst.Outstanding < 2 || burst.Tokens == 0 {
		t.Errorf("burst: %+v, %v", burst, err)
	}
}

// liar changes the lowest bit of one answer in a hundred.
type liar struct {
	tinker.Service
	answers int
}

type lyingRun struct {
	tinker.TrainingClient
	of *liar
}

func (l *liar) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	m, err := l.Service.CreateModel(ctx, req)
	return lyingRun{m, l}, err
}

func (l lyingRun) ForwardBackward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	l.of.answers++
	lie := l.of.answers%100 == 0
	f, err := l.TrainingClient.ForwardBackward(ctx, req)
	if err != nil {
		return nil, err
	}
	return tinker.Then(f, func(o tinker.ForwardOutput) (tinker.ForwardOutput, error) {
		if lie {
			lp := append([]float32{}, o.LossFnOutputs[0][tinker.Logprobs].Float...)
			lp[3] = math.Nextafter32(lp[3], 0)
			o.LossFnOutputs = []map[string]tinker.Tensor{{tinker.Logprobs: tinker.Floats(lp)}}
		}
		return o, nil
	}), nil
}

func TestBurstSeesOneWrongBit(t *testing.T) {
	l, err := load.New(t.Context(), &liar{Service: newEngine(t)}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Burst(t.Context(), 0, 128); err == nil || !strings.Contains(err.Error(), "other logprobs") {
		t.Errorf("one wrong bit among 128 answers: %v", err)
	}
}

func TestTimes(t *testing.T) {
	var times load.Times
	for _, ms := range []int{5, 1, 4, 2, 3} {
		times.Add(time.Duration(ms) * time.Millisecond)
	}
	for p, want := range map[float64]int{0: 1, .5: 3, .9: 5, 1: 5} {
		if got := times.At(p); got != time.Duration(want)*time.Millisecond {
			t.Errorf("At(%v) = %v, want %d ms", p, got, want)
		}
	}
}
