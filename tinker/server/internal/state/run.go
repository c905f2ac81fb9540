package state

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Model is a training run.
type Model struct {
	ModelRecord

	WasMade bool // the backend had it

	// All volatile.
	Made        chan struct{} // closed when client or err is set
	Client      tinker.TrainingClient
	Info        tinker.ModelInfo
	Err         error
	LastRequest time.Time
	Dense       int64          // every number up to here was accepted
	Ahead       map[int64]bool // accepted numbers beyond dense
	Gap         *time.Timer    // runs while numbers are ahead
}

func NewModel(r ModelRecord) *Model {
	return &Model{ModelRecord: r, Made: make(chan struct{}), Ahead: map[int64]bool{}, LastRequest: r.Created}
}

// SettleCopy says that a run that owns a copy cannot be trained.
func (m *Model) SettleCopy() {
	m.Err = tinker.Userf("model %s holds a copy of %s and cannot be trained; create a model from the copy", m.ID,
		m.Copy.From)
	close(m.Made)
}

func ModelID(session string, seq int64) string { return fmt.Sprintf("%s:train:%d", session, seq) }

// OwnModel returns a tenant's model.
func (t *Store) OwnModel(tenant, id string) (*Model, error) {
	t.Lock()
	defer t.Unlock()
	m := t.Models[id]
	if m == nil || t.Sessions[m.Session] == nil || t.Sessions[m.Session].Tenant != tenant {
		return nil, fmt.Errorf("model %q: %w", id, tinker.ErrNotFound)
	}
	m.LastRequest = t.now().UTC()
	return m, nil
}

// Unusable is why a model could not be created or restored; nil while that is not known.
func (m *Model) Unusable() error {
	select {
	case <-m.Made:
		return m.Err
	default:
		return nil
	}
}

func Rejected(model string, seq int64, err error) Rejection {
	return Rejection{Model: model, Seq: seq, Error: tinker.BriefText(err.Error()), Category: tinker.CategoryOf(err)}
}

func (r Rejection) Err() error { return &tinker.Error{Category: r.Category, Err: errors.New(r.Error)} }

// BaseOf is the name of a run's base model in answers to clients, also for checkpoints of that run: the name that was
// asked for when the run was created. The store is locked.
func (t *Store) BaseOf(modelID, base string) string {
	if m := t.Models[modelID]; m != nil && m.Asked != "" {
		return m.Asked
	}
	return base
}

// SeqRange is a range of numbers, both ends included.
type SeqRange struct{ From, To int64 }

// Missing lists the ranges of missing numbers before accepted ones, at most that many numbers. The store is locked.
func (m *Model) Missing(most int64) (list []SeqRange) {
	next := m.Dense + 1
	for _, seq := range slices.Sorted(maps.Keys(m.Ahead)) {
		if n := min(seq-next, most); n > 0 {
			list = append(list, SeqRange{next, next + n - 1})
			most -= n
		}
		next = seq + 1
	}
	return list
}

// GapReason names the missing request that a request waits for. The store is locked.
func (m *Model) GapReason(seq int64) string {
	if len(m.Ahead) == 0 || seq <= m.Dense {
		return ""
	}
	return fmt.Sprintf("request %d waits for request %d of the model, which has not arrived", seq, m.Dense+1)
}

// Answer is the result of creating a model.
func (m *Model) Answer() (any, error) {
	if m.Err != nil {
		return nil, m.Err
	}
	if m.Load != nil {
		return wire.LoadResponse{Type: "load_weights", Path: m.Load.Path, ModelID: m.ID}, nil
	}
	return wire.CreateModelResponse{Type: "create_model", ModelID: m.ID}, nil
}

func (g SeqRange) Err(model string, after time.Duration) error {
	if g.From == g.To {
		return tinker.Userf("request %d of model %s did not arrive within %v of later ones and was cancelled", g.From,
			model, after)
	}
	return tinker.Userf("requests %d to %d of model %s did not arrive within %v of later ones and were cancelled",
		g.From, g.To, model, after)
}
