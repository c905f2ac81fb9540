package tinkertest

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// unload: accepted requests are executed, later ones are refused, checkpoints stay, and other models are not affected.
func (s *suite) unload() {
	u, ok := s.svc.(tinker.Unloader)
	if !ok {
		s.Skip("this service does not unload models")
	}
	c, other := s.model(0), s.model(1)
	info, err := c.Info(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	back, berr := c.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
	step, serr := c.OptimStep(s.ctx, tinker.OptimStepRequest{Adam: tinker.DefaultAdam()})
	saved, verr := c.SaveState(s.ctx, tinker.SaveRequest{Name: "last"})
	f, err := u.UnloadModel(s.ctx, info.ModelID)
	if _, err := result(s, f, err); err != nil {
		s.Fatalf("unload: %v", err)
	}
	if _, err := result(s, back, berr); err != nil {
		s.Errorf("a forward_backward accepted before: %v", err)
	}
	if _, err := result(s, step, serr); err != nil {
		s.Errorf("an optim_step accepted before: %v", err)
	}
	path, err := result(s, saved, verr)
	if err != nil {
		s.Fatalf("a save accepted before: %v", err)
	}
	late, err := c.Forward(s.ctx, crossEntropy(datum(some...)))
	if _, err := result(s, late, err); !errors.Is(err, tinker.ErrNotFound) {
		s.Errorf("a request to an unloaded model: %v, want not found", err)
	}
	f, err = u.UnloadModel(s.ctx, info.ModelID)
	if _, err := result(s, f, err); err != nil {
		s.Errorf("unload again: %v", err)
	}
	if _, err := u.UnloadModel(s.ctx, "nobody:train:9"); !errors.Is(err, tinker.ErrNotFound) {
		s.Errorf("unload of a model that never was: %v", err)
	}
	if _, err := s.svc.CreateModelFromState(s.ctx, tinker.CreateFromStateRequest{SessionID: "after", ModelSeqID: 9,
		Path: path.Path, Optimizer: true}); err != nil {
		s.Errorf("a model of an unloaded one's state: %v", err)
	}
	s.logprobs(other, some...)
}
