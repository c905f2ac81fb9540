package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// An idle model is evicted: it is written to its snapshot and removed from the machine's memory. The next request
// restores it to the same bits. After a start all models are evicted except those with requests to replay.

// evictPeriod is the time between two searches for idle models.
const evictPeriod = 10 * time.Second

// evictIdle evicts models that have not been used for IdleAfter, until the journal closes.
func (j *Journal) evictIdle() {
	tick := time.NewTicker(max(j.opts.IdleAfter/8, min(j.opts.IdleAfter, evictPeriod)))
	defer tick.Stop()
	for {
		select {
		case <-j.ctx.Done():
			return
		case <-tick.C:
			for _, m := range j.evictable(time.Now().Add(-j.opts.IdleAfter)) {
				if _, err := m.evict(); err != nil && j.ctx.Err() == nil {
					j.opts.Warn(fmt.Sprintf("model %s stays in memory: %v", m.id, err))
				}
			}
		}
	}
}

// evictable lists the models that may be evicted and were not used after that time, the least recently used first.
func (j *Journal) evictable(since time.Time) (list []*trainingClient) {
	used := map[*trainingClient]time.Time{}
	for _, m := range j.all() {
		m.mu.Lock()
		if m.mayEvict() && !m.used.After(since) {
			list, used[m] = append(list, m), m.used
		}
		m.mu.Unlock()
	}
	slices.SortStableFunc(list, func(a, b *trainingClient) int {
		return cmp.Or(used[a].Compare(used[b]), cmp.Compare(a.id, b.id))
	})
	return list
}

// Evict removes a model from memory at once if it has no pending requests. Its client has announced that it is done.
func (j *Journal) Evict(modelID string) error {
	j.mu.Lock()
	m := j.models[modelID]
	j.mu.Unlock()
	if m == nil {
		return tinker.Userf("journal: model %s: %w", modelID, tinker.ErrNotFound)
	}
	_, err := m.evict()
	return err
}

// EvictOldest evicts the least recently used model and reports whether there was one.
func (j *Journal) EvictOldest() (bool, error) {
	for _, m := range j.evictable(time.Now()) {
		if done, err := m.evict(); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// Evicted counts the evicted models, and all models that are not unloaded.
func (j *Journal) Evicted() (evicted, all int) {
	for _, m := range j.all() {
		m.mu.Lock()
		if !m.gone {
			all++
		}
		if m.evicted {
			evicted++
		}
		m.mu.Unlock()
	}
	return evicted, all
}

// mayEvict reports whether the model has no pending requests; m.mu is held.
func (m *trainingClient) mayEvict() bool {
	return !m.evicted && !m.gone && m.leaving == nil && m.halted == nil && m.running == 0
}

// evict writes the model to its snapshot and removes it from memory. It reports whether it did.
func (m *trainingClient) evict() (bool, error) {
	if !m.snapping.TryLock() { // a snapshot or a restore is in progress
		return false, nil
	}
	defer m.snapping.Unlock()
	m.mu.Lock()
	may, stale := m.mayEvict(), !m.snapped || m.ops.Next()-1 > m.applied
	m.mu.Unlock()
	if !may {
		return false, nil
	}
	if stale {
		if err := m.takeSnapshot(); err != nil {
			return false, err
		}
	}
	m.mu.Lock()
	if !m.mayEvict() || m.ops.Next()-1 > m.applied { // a request came meanwhile
		m.mu.Unlock()
		return false, nil
	}
	m.evicted, m.inner, m.created.Request = true, nil, nil
	m.compute, m.bytes = 0, 0 // a request that ended during the snapshot may have added to them
	m.ops.ForgetAll()
	m.mu.Unlock()
	if err := m.j.m.Evict(m.j.ctx, m.id); err != nil {
		return false, fmt.Errorf("journal: model %s: %w", m.id, err)
	}
	return true, nil
}

// lockLoaded returns with m.mu held and the model in the machine, or an error.
func (m *trainingClient) lockLoaded() error {
	for {
		m.mu.Lock()
		if !m.evicted || m.leaving != nil {
			return nil
		}
		m.mu.Unlock()
		if err := m.restoreWithRoom(); err != nil {
			return m.unusable(err)
		}
	}
}

// restoreWithRoom is restore for a request that is not accepted yet. When there is no memory for the model, the least
// recently used model is evicted; if none can be, the request must be sent again.
func (m *trainingClient) restoreWithRoom() error {
	for {
		err := m.restore(context.Background())
		if !errors.Is(err, tinker.ErrBusy) {
			return err
		}
		if done, evictErr := m.j.EvictOldest(); !done {
			return errors.Join(err, evictErr)
		}
	}
}

// unusable is the error of a model that cannot be restored.
func (m *trainingClient) unusable(why error) error {
	if errors.Is(why, tinker.ErrClosed) || errors.Is(why, tinker.ErrBusy) {
		return why
	}
	return tinker.Userf("journal: model %s %w: %w", m.id, tinker.ErrUnusable, why)
}

// restore restores an evicted model from its snapshot.
func (m *trainingClient) restore(ctx context.Context) error {
	m.snapping.Lock()
	defer m.snapping.Unlock()
	m.mu.Lock()
	idle := m.evicted
	m.mu.Unlock()
	if !idle || m.broken != nil {
		return m.broken
	}
	s, err := openSnapshot(m.j.snapshotPath(m.id))
	if err != nil {
		return err
	}
	defer s.close()
	inner, err := m.restoreFrom(ctx, s)
	if err != nil {
		return err
	}
	results, err := s.kept()
	if err != nil {
		return err
	}
	info, err := inner.Info(ctx)
	if err != nil {
		return fmt.Errorf("journal: restore %s: %w", s.path, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evicted, m.inner, m.created, m.info, m.used = false, inner, s.Created, info, time.Now()
	for _, r := range results {
		if err := m.restoreResult(r); err != nil {
			return fmt.Errorf("journal: restore %s: %w", s.path, err)
		}
	}
	return nil
}

func (m *trainingClient) restoreFrom(ctx context.Context, s *snapfile) (tinker.TrainingClient, error) {
	state, err := s.machine()
	if err != nil {
		return nil, err
	}
	id, _, err := m.j.m.Restore(ctx, state)
	if err != nil {
		return nil, fmt.Errorf("journal: restore %s: %w", s.path, err)
	}
	inner, err := m.j.m.OpenModel(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("journal: restore %s: %w", s.path, err)
	}
	return inner, nil
}
