package server

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// trainingRun describes a model; list is the tenant's checkpoints, newest first.
func (s *runs) trainingRun(m *model, list []savedCheckpoint) wire.TrainingRun {
	s.state.Lock()
	defer s.state.Unlock()
	run := wire.TrainingRun{TrainingRunID: m.ID, IsLoRA: true, LastRequestTime: m.lastRequest, UserMetadata: m.Metadata,
		ModelOwner: owner(s.state.sessions[m.Session].Tenant), BaseModel: s.state.baseOf(m.ID, m.info.BaseModel)}
	rank := m.info.LoRA.Rank
	if m.Create != nil {
		run.BaseModel, rank = s.state.baseOf(m.ID, m.Create.BaseModel), m.Create.LoRA.Rank
	}
	run.LoRARank, run.Corrupted = &rank, m.unusable() != nil
	for _, k := range list {
		w := wireOf(k)
		switch {
		case k.Path.ModelID != m.ID:
		case k.Path.Kind == tinker.KindState && run.LastCheckpoint == nil:
			run.LastCheckpoint = &w
		case w.CheckpointType == wire.TypeSampler && run.LastSamplerCheckpoint == nil:
			run.LastSamplerCheckpoint = &w
		}
	}
	return run
}

func (s *runs) listRuns(c *call) (any, error) {
	p, err := page(c, 20)
	if err != nil {
		return nil, err
	}
	list, err := s.saved.List(c.ctx, c.tenant, "", knowsExternal(c.r))
	if err != nil {
		return nil, err
	}
	s.state.Lock()
	var models []*model
	for _, m := range s.state.modelsInOrder() {
		if u := s.state.sessions[m.Session]; u != nil && u.Tenant == c.tenant {
			models = append(models, m)
		}
	}
	s.state.Unlock()
	slices.Reverse(models)
	out := wire.TrainingRuns{TrainingRuns: []wire.TrainingRun{}}
	for _, m := range cut(&p, models) {
		out.TrainingRuns = append(out.TrainingRuns, s.trainingRun(m, list))
	}
	out.Cursor = p
	return out, nil
}

func (s *runs) getRun(c *call) (any, error) {
	m, err := s.state.ownModel(c.tenant, c.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	list, err := s.saved.List(c.ctx, c.tenant, m.ID, knowsExternal(c.r))
	if err != nil {
		return nil, err
	}
	return s.trainingRun(m, list), nil
}
