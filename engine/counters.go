package engine

import "github.com/seed-d9ad8ee0/trinity/tinker"

// Stats returns what the engine has computed so far, and the pending requests.
func (e *Engine) Stats() tinker.Stats {
	s := tinker.Stats{Waiting: [2]tinker.Queue{tinker.Training: e.training.Now(), tinker.Sampling: e.sampling.Now()}}
	e.loop.Count(&s)
	e.scheduler.Count(&s)
	return s
}
