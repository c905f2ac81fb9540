package sampling

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// The in-flight samplers of a training run share its latest weights that were saved with kind "inflight". A sampler
// begins with the weights that it was made of, or later ones. Each save moves all of them, with the answers under way
// (tinker.Mover).
//
// An answer depends on when its weights changed. So the weights of each sample are logged as they change, and are on
// the disk before the answer is given: an answer that a kill has lost is drawn again with the same weights for the
// same tokens.

// Publish moves the in-flight samplers of a training run to the weights at path when they are saved.
func (s *Samplers) Publish(path string, saving *tinker.Future[tinker.SaveOutput]) {
	s.Life.Begin(func() {
		if _, err := saving.Wait(s.Life.Ctx); err != nil {
			return // the client is told
		}
		s.State.Lock()
		p := s.State.Samplers[s.State.Unnamed[path]]
		if p != nil {
			p.Saved = true
		}
		s.State.Unlock()
		if p != nil {
			s.follow(s.Life.Ctx, p.Run())
		}
	})
}

// follow moves the open in-flight samplers of a training run to its latest weights. If there is no memory for these,
// they stay as they are until the next save.
func (s *Samplers) follow(ctx context.Context, run string) {
	s.moving.Lock()
	defer s.moving.Unlock()
	for _, m := range s.moves(run) {
		if err := s.move(tinker.Promised(ctx), m); err != nil && ctx.Err() == nil {
			s.Life.Log.Warn("server: an in-flight sampler keeps its old weights", "sampler", m.of.ID, "error", err)
		}
	}
}

// move is an open in-flight sampler and its latest weights.
type move struct {
	of     *state.Sampler
	client tinker.Mover
	path   string
}

// moves lists those of a training run. They are busy until they moved, so that they stay open.
func (s *Samplers) moves(run string) (list []move) {
	s.State.Lock()
	defer s.State.Unlock()
	for _, p := range s.State.Samplers {
		if c, open := p.Client.(tinker.Mover); open && p.Inflight > 0 && p.Run() == run {
			list = append(list, move{p, c, s.State.Latest(p).ModelPath})
			p.Busy++
		}
	}
	return list
}

func (s *Samplers) move(ctx context.Context, m move) error {
	defer func() {
		s.State.Lock()
		defer s.State.Unlock()
		m.of.Busy--
	}()
	err := m.client.Move(ctx, m.path)
	for errors.Is(err, tinker.ErrBusy) && s.Weights.Free() {
		err = m.client.Move(ctx, m.path)
	}
	return err
}

// drawInflight samples from an in-flight sampler and logs which weights draw which tokens.
func (s *Samplers) drawInflight(ctx context.Context, p *state.Sample, client tinker.SamplingClient,
	asked tinker.SampleRequest) (out tinker.SampleResponse, err error) {
	asked.Versions = slices.Clone(p.Versions) // of an earlier process
	stream, err := tinker.OpenStream(ctx, client, asked)
	if err != nil {
		return out, err
	}
	drawn := make([]int, asked.NumSamples)
	for {
		some, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		for _, d := range some {
			if d.Version != "" {
				s.noteVersion(p, d.Sample, tinker.Version{From: drawn[d.Sample], Path: d.Version})
			}
			drawn[d.Sample]++
		}
	}
	if err := s.State.Log.Sync(s.State.Log.End()); err != nil {
		return out, err
	}
	return stream.Result().Wait(ctx)
}

// noteVersion logs that a sample has other weights.
func (s *Samplers) noteVersion(p *state.Sample, sample int, v tinker.Version) {
	s.State.Lock()
	defer s.State.Unlock()
	r := state.VersionRecord{Sampler: p.Sampler, Seq: p.Seq, Sample: sample, Version: v}
	if !p.AddVersion(r) {
		return
	}
	if _, err := s.State.Record(state.RecVersion, r); err != nil {
		s.Life.Log.Warn("server: a change of weights was not logged; a lost answer is drawn with others", "error", err)
	}
}

// markSaved finds out which weights of in-flight samplers were saved by an earlier process; the store is locked.
func (s *Samplers) markSaved() {
	for _, p := range s.State.Samplers {
		if p.Inflight > 0 {
			_, err := s.Store.Checkpoint(p.ModelPath)
			p.Saved = err == nil
		}
	}
}
