package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// restarted is a service that behaves as SkyRL's does: at some optimizer steps it is restarted, and then it has none of
// its models, nor can it sample from weights that they saved. Checkpoints stay.
type restarted struct {
	mu     sync.Mutex
	at     []int // optimizer steps, counted over all starts
	steps  int
	models map[string]bool // false: lost
	made   int
}

func (r *restarted) wrap(s tinker.Service) tinker.Service { return &restartedService{s, r} }

type restartedService struct {
	tinker.Service
	r *restarted
}

func (s *restartedService) CreateModel(ctx context.Context,
	req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	return s.made(ctx)(s.Service.CreateModel(ctx, req))
}

func (s *restartedService) CreateModelFromState(ctx context.Context,
	req tinker.CreateFromStateRequest) (tinker.TrainingClient, error) {
	return s.made(ctx)(s.Service.CreateModelFromState(ctx, req))
}

func (s *restartedService) made(ctx context.Context) func(tinker.TrainingClient, error) (tinker.TrainingClient, error) {
	return func(c tinker.TrainingClient, err error) (tinker.TrainingClient, error) {
		if err != nil {
			return nil, err
		}
		info, err := c.Info(ctx)
		s.r.mu.Lock()
		defer s.r.mu.Unlock()
		s.r.models[info.ModelID] = true
		s.r.made++
		return &restartedModel{c, info.ModelID, s.r}, err
	}
}

type restartedModel struct {
	tinker.TrainingClient
	id string
	r  *restarted
}

func (m *restartedModel) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	m.r.mu.Lock()
	m.r.steps++
	if len(m.r.at) > 0 && m.r.steps == m.r.at[0] {
		m.r.at = m.r.at[1:]
		for id := range m.r.models {
			m.r.models[id] = false
		}
	}
	there := m.r.models[m.id]
	m.r.mu.Unlock()
	if !there {
		return tinker.Resolved(tinker.OptimStepOutput{}, tinker.Serverf("model %s: %w", m.id, tinker.ErrLost)), nil
	}
	return m.TrainingClient.OptimStep(ctx, req)
}

// sampler is one that notices only when it is asked.
type restartedSampler struct {
	tinker.SamplingClient
	path tinker.Path
	r    *restarted
}

func (s *restartedService) SamplingClient(ctx context.Context,
	req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	c, err := s.Service.SamplingClient(ctx, req)
	if err != nil || req.ModelPath == "" {
		return c, err
	}
	path, err := tinker.ParsePath(req.ModelPath)
	return &restartedSampler{c, path, s.r}, err
}

func (s *restartedSampler) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse],
	error) {
	s.r.mu.Lock()
	there := s.r.models[s.path.ModelID]
	s.r.mu.Unlock()
	if !there {
		return nil, tinker.Serverf("weights of model %s: %w", s.path.ModelID, tinker.ErrLost)
	}
	return s.SamplingClient.Sample(ctx, req)
}

// A run whose server is restarted under it goes back to the last saved state by itself, as often as that makes headway,
// and ends with the metrics of an unbroken run, each step once.
func TestGoesBackByItself(t *testing.T) {
	t.Parallel()
	few := append(small, "trainer.save_interval=2")
	want := runs(t, load(t, t.TempDir(), few...), options())
	lost := [][]int{{1}, {3}, {4}, {2, 5, 6}}
	if testing.Short() {
		lost = lost[3:] // the goroutines are the same whenever the server is restarted
	}
	for _, at := range lost {
		r := &restarted{at: at, models: map[string]bool{}}
		var out bytes.Buffer
		o := options()
		o.Fleeting, o.Wrap, o.Out = forgets, r.wrap, &out
		sum, err := Run(t.Context(), load(t, t.TempDir(), few...), o)
		if err != nil {
			t.Fatalf("restarted at %v: %v\n%s", at, err, out.String())
		}
		same(t, fmt.Sprintf("restarted at %v", at), timeless(sum.Lines), want)
		if got := strings.Count(out.String(), "the run goes back to step") + strings.Count(out.String(),
			"the run begins again"); got != len(at) || r.made != len(at)+1 {
			t.Errorf("restarted at %v: went back %d times with %d models, want %d:\n%s", at, got, r.made, len(at),
				out.String())
		}
	}
}

// A server that loses the run again and again after the same state ends it, with what was lost.
func TestGoesBackOnlySoOften(t *testing.T) {
	t.Parallel()
	r := &restarted{models: map[string]bool{}}
	for n := 1; n <= 2*goBacks; n++ {
		r.at = append(r.at, n)
	}
	o := options()
	o.Fleeting, o.Wrap = forgets, r.wrap
	_, err := Run(t.Context(), load(t, t.TempDir(), append(small, "trainer.save_interval=2")...), o)
	if !errors.Is(err, tinker.ErrLost) ||
		!strings.Contains(err.Error(), "the server lost the run 6 times after the state of step 0") {
		t.Errorf("error %v", err)
	}
}
