package run

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// stopsAt is an operator that presses Ctrl-C at an explore step.
type stopsAt struct {
	step string
	stop chan struct{}
}

func (s stopsAt) Process(_ context.Context,
	list []*experience.Experience) ([]*experience.Experience, map[string]float64, error) {
	select {
	case <-s.stop:
	default:
		if list[0].EID.Batch == s.step {
			close(s.stop)
		}
	}
	return list, nil, nil
}

// held is a service whose optimizer steps wait for Ctrl-C.
type held struct {
	tinker.Service
	stop chan struct{}
}

func (h held) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	c, err := h.Service.CreateModel(ctx, req)
	return heldModel{c, h.stop}, err
}

type heldModel struct {
	tinker.TrainingClient
	stop chan struct{}
}

func (m heldModel) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	select {
	case <-m.stop:
	case <-ctx.Done():
	}
	return m.TrainingClient.OptimStep(ctx, req)
}

// With a table between the loops of one process the explorer is steps ahead at Ctrl-C, and they are not explored again.
// Their metrics stand in the lines all the same.
func TestTableKeepsMetrics(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTwoProcessesGiveTheSameBits")
	operator := func(s stopsAt) map[string]pipeline.Make {
		return map[string]pipeline.Make{"stops": func(map[string]any) (pipeline.Operator, error) { return s, nil }}
	}
	for _, batch := range []int{4, 8} {
		args := and(tiny, "buffer.total_steps=6", "trainer.total_steps=6", "synchronizer.sync_interval=6",
			betweenTable, fmt.Sprint("buffer.train_batch_size=", batch), operatorsOf("{name: stops}"))
		o := options()
		o.Plugins.Operators = operator(stopsAt{})
		want := runs(t, load(t, t.TempDir(), args...), o)

		dir, stop := t.TempDir(), make(chan struct{})
		first := options()
		first.Plugins.Operators, first.Stop = operator(stopsAt{"5", stop}), stop
		first.Wrap = func(s tinker.Service) tinker.Service { return held{s, stop} }
		if _, err := Run(t.Context(), load(t, dir, args...), first); !errors.Is(err, ErrInterrupted) {
			t.Fatalf("%d samples a step: %v; want ErrInterrupted", batch, err)
		}
		same(t, fmt.Sprint(batch, " samples a step"), runs(t, load(t, dir, args...), o), want)
	}
}

// Killed anywhere, a run over a table in one process ends with the metrics of an unbroken one, the explorer's too.
func TestTableMetricsSurviveKills(t *testing.T) {
	t.Parallel()
	args := and(tiny, "synchronizer.sync_interval=3", betweenTable)
	survivesKills(t, options(), 6, jobWith(args...))
}
