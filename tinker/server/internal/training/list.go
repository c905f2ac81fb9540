package training

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// trainingRun describes a model; list is the tenant's checkpoints, newest first.
func (s *Runs) trainingRun(m *state.Model, list []state.SavedCheckpoint) wire.TrainingRun {
	s.State.Lock()
	defer s.State.Unlock()
	run := wire.TrainingRun{TrainingRunID: m.ID, IsLoRA: true, LastRequestTime: m.LastRequest, UserMetadata: m.Metadata,
		ModelOwner: stats.Owner(s.State.Sessions[m.Session].Tenant), BaseModel: s.State.BaseOf(m.ID, m.Info.BaseModel)}
	rank := m.Info.LoRA.Rank
	if m.Create != nil {
		run.BaseModel, rank = s.State.BaseOf(m.ID, m.Create.BaseModel), m.Create.LoRA.Rank
	}
	if m.Copy != nil {
		run.BaseModel, rank = s.State.BaseOf(m.ID, m.Copy.BaseModel), m.Copy.Rank
	}
	run.LoRARank, run.Corrupted = &rank, m.Copy == nil && m.Unusable() != nil
	for _, k := range list {
		w := checkpoint.WireOf(k)
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

func (s *Runs) ListRuns(c *edge.Call) (any, error) {
	p, err := edge.Page(c, 20)
	if err != nil {
		return nil, err
	}
	list, err := s.Saved.List(c.Ctx, c.Tenant, "", checkpoint.KnowsExternal(c.R))
	if err != nil {
		return nil, err
	}
	project := c.R.URL.Query().Get("project_id")
	s.State.Lock()
	var models []*state.Model
	for _, m := range s.State.ModelsInOrder() {
		u := s.State.Sessions[m.Session]
		if u != nil && u.Tenant == c.Tenant && (project == "" || u.InProject(project)) {
			models = append(models, m)
		}
	}
	s.State.Unlock()
	slices.Reverse(models)
	out := wire.TrainingRuns{TrainingRuns: []wire.TrainingRun{}}
	for _, m := range edge.Cut(&p, models) {
		out.TrainingRuns = append(out.TrainingRuns, s.trainingRun(m, list))
	}
	out.Cursor = p
	return out, nil
}

func (s *Runs) GetRun(c *edge.Call) (any, error) {
	m, err := s.State.OwnModel(c.Tenant, c.R.PathValue("run"))
	if err != nil {
		return nil, err
	}
	list, err := s.Saved.List(c.Ctx, c.Tenant, m.ID, checkpoint.KnowsExternal(c.R))
	if err != nil {
		return nil, err
	}
	return s.trainingRun(m, list), nil
}
