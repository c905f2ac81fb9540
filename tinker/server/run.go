package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// model is a training run.
type model struct {
	modelRecord

	wasMade bool // the backend had it

	// All volatile.
	made        chan struct{} // closed when client or err is set
	client      tinker.TrainingClient
	info        tinker.ModelInfo
	err         error
	lastRequest time.Time
	dense       int64          // every number up to here was accepted
	ahead       map[int64]bool // accepted numbers beyond dense
	gap         *time.Timer    // runs while numbers are ahead
}

func newModel(r modelRecord) *model {
	return &model{modelRecord: r, made: make(chan struct{}), ahead: map[int64]bool{}, lastRequest: r.Created}
}

func modelID(session string, seq int64) string { return fmt.Sprintf("%s:train:%d", session, seq) }

// ownModel returns a tenant's model.
func (t *store) ownModel(tenant, id string) (*model, error) {
	t.Lock()
	defer t.Unlock()
	m := t.models[id]
	if m == nil || t.sessions[m.Session] == nil || t.sessions[m.Session].Tenant != tenant {
		return nil, fmt.Errorf("model %q: %w", id, tinker.ErrNotFound)
	}
	m.lastRequest = t.now().UTC()
	return m, nil
}

// unusable is why a model could not be created or restored; nil while that is not known.
func (m *model) unusable() error {
	select {
	case <-m.made:
		return m.err
	default:
		return nil
	}
}

func rejected(model string, seq int64, err error) rejection {
	return rejection{Model: model, Seq: seq, Error: tinker.BriefText(err.Error()), Category: tinker.CategoryOf(err)}
}

func (r rejection) err() error { return &tinker.Error{Category: r.Category, Err: errors.New(r.Error)} }

// baseOf is the name of a run's base model in answers to clients, also for checkpoints of that run: the name that was
// asked for when the run was created. The store is locked.
func (t *store) baseOf(modelID, base string) string {
	if m := t.models[modelID]; m != nil && m.Asked != "" {
		return m.Asked
	}
	return base
}

// seqRange is a range of numbers, both ends included.
type seqRange struct{ from, to int64 }

// missing lists the ranges of missing numbers before accepted ones, at most that many numbers. The store is locked.
func (m *model) missing(most int64) (list []seqRange) {
	next := m.dense + 1
	for _, seq := range slices.Sorted(maps.Keys(m.ahead)) {
		if n := min(seq-next, most); n > 0 {
			list = append(list, seqRange{next, next + n - 1})
			most -= n
		}
		next = seq + 1
	}
	return list
}

// gapReason names the missing request that a request waits for. The store is locked.
func (m *model) gapReason(seq int64) string {
	if len(m.ahead) == 0 || seq <= m.dense {
		return ""
	}
	return fmt.Sprintf("request %d waits for request %d of the model, which has not arrived", seq, m.dense+1)
}

// answer is the result of creating a model.
func (m *model) answer() (any, error) {
	if m.err != nil {
		return nil, m.err
	}
	if m.Load != nil {
		return wire.LoadResponse{Type: "load_weights", Path: m.Load.Path, ModelID: m.ID}, nil
	}
	return wire.CreateModelResponse{Type: "create_model", ModelID: m.ID}, nil
}

func (g seqRange) err(model string, after time.Duration) error {
	if g.from == g.to {
		return tinker.Userf("request %d of model %s did not arrive within %v of later ones and was cancelled", g.from,
			model, after)
	}
	return tinker.Userf("requests %d to %d of model %s did not arrive within %v of later ones and were cancelled",
		g.from, g.to, model, after)
}
