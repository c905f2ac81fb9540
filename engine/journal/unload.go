package journal

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// An unloaded model leaves a tombstone, the file model-<id>.gone, in place of its snapshot. It prevents a replay and a
// reuse of the model's key, and answers requests for information.
type tombstone struct {
	Version int              `json:"version"`
	Created created          `json:"created"`
	Info    tinker.ModelInfo `json:"info"`
	Next    int64            `json:"next_seq_id"`
}

// never is above every SeqID.
const never = math.MaxInt64

var _ tinker.Unloader = (*Journal)(nil)

// UnloadModel implements tinker.Unloader, if the machine does.
func (j *Journal) UnloadModel(ctx context.Context, modelID string) (*tinker.Future[tinker.UnloadOutput], error) {
	j.mu.Lock()
	m, closed := j.models[modelID], j.closed
	j.mu.Unlock()
	if closed {
		return nil, tinker.ErrClosed
	}
	if m == nil {
		return nil, tinker.Userf("journal: model %s: %w", modelID, tinker.ErrNotFound)
	}
	return m.unload(ctx, true)
}

// unload logs the unloading, if log is set, and unloads the model when everything accepted before has been executed.
func (m *trainingClient) unload(ctx context.Context, log bool) (*tinker.Future[tinker.UnloadOutput], error) {
	u, ok := m.j.m.(tinker.Unloader)
	if !ok {
		return nil, tinker.Userf("journal: this service cannot unload models")
	}
	m.mu.Lock()
	if m.leaving != nil {
		defer m.mu.Unlock()
		return m.leaving, nil
	}
	var at position
	var err error
	if log {
		if at, err = m.j.log.append(recUnload, unloaded{m.id}); err != nil {
			m.mu.Unlock()
			return nil, err
		}
	}
	f, resolve := tinker.NewFuture[tinker.UnloadOutput]()
	m.leaving, m.info.NextSeqID = f, m.ops.Next()
	m.mu.Unlock()
	if err := at.sync(); err != nil {
		m.j.background.Go(func() { // it is unloaded anyway, once the record is in the log
			if err := at.log.Await(m.j.ctx, at.at); err != nil {
				resolve(tinker.UnloadOutput{}, err)
				return
			}
			resolve(m.leave(u))
		})
		return nil, err
	}
	m.j.background.Go(func() {
		resolve(m.leave(u)) // a failed or interrupted unload is completed after the next start
	})
	return f, nil
}

// leave unloads the machine's model when everything accepted before has been executed.
func (m *trainingClient) leave(u tinker.Unloader) (out tinker.UnloadOutput, err error) {
	m.sending.Wait()
	m.snapping.Lock()
	defer m.snapping.Unlock()
	m.mu.Lock()
	idle := m.evicted
	m.mu.Unlock()
	if out.ModelID = m.id; idle {
		return out, m.bury()
	}
	f, err := u.UnloadModel(m.j.ctx, m.id)
	if err != nil {
		return out, err
	}
	if out, err = f.Wait(context.Background()); err == nil {
		err = m.bury()
	}
	return out, err
}

func (m *trainingClient) leaves() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leaving != nil
}

func (m *trainingClient) errUnloaded() error {
	return tinker.Userf("journal: model %s: %w; create another from one of its checkpoints", m.id, tinker.ErrUnloaded)
}

// bury writes the tombstone; the log and the snapshot of the model are no longer needed. m.snapping is held.
func (m *trainingClient) bury() error {
	m.mu.Lock()
	t := tombstone{Version: version, Created: m.created, Info: m.info, Next: m.ops.Next()}
	m.mu.Unlock()
	fs := m.j.opts.FS
	if err := disk.WriteJSON(fs, m.j.tombstonePath(m.id), t); err != nil {
		return fmt.Errorf("journal: model %s: %w", m.id, err)
	}
	m.mu.Lock()
	m.gone, m.evicted, m.inner = true, false, nil
	m.mu.Unlock()
	if _, err := os.Stat(m.j.snapshotPath(m.id)); err == nil {
		if err := fs.Remove(m.j.snapshotPath(m.id)); err != nil {
			return fmt.Errorf("journal: model %s: %w", m.id, err)
		}
	}
	if err := m.j.log.rotate(); err != nil {
		return err
	}
	return m.j.log.compact(m.j.appliedOf)
}

func (j *Journal) tombstonePath(modelID string) string {
	return filepath.Join(j.dir, "model-"+url.PathEscape(modelID)+".gone")
}

// readTombstones registers the unloaded models.
func (j *Journal) readTombstones() error {
	paths, err := disk.Glob(j.dir, "model-*.gone")
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	for _, path := range paths {
		t, err := readTombstone(path)
		if err != nil {
			return err
		}
		m := newTrainingClient(j, t.Created, nil)
		m.gone, m.info = true, t.Info
		m.ops.Reserve(t.Next - 1)
		m.leaving = tinker.Resolved(tinker.UnloadOutput{ModelID: m.id}, nil)
		j.add(m)
	}
	return nil
}

func readTombstone(path string) (t tombstone, err error) {
	if err := disk.ReadJSON(path, &t); err != nil || t.Version != version {
		return t, fmt.Errorf("journal: %s is damaged (version %d, %v); restore it from a backup", path, t.Version, err)
	}
	return t, nil
}
