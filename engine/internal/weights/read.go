package weights

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Use returns the untouched weights, which it reads if they are not in memory. They stay there until the use ends. A
// promised use is not refused for lack of memory.
func (m *Memory) Use(b *Base, promised bool) (*Version, *Hold, error) {
	held := m.Enter(b)
	v, err := m.load(b, promised)
	if err != nil {
		held.End()
		return nil, nil, err
	}
	return v, held, nil
}

// load is use for a base model that has a user already.
func (m *Memory) load(b *Base, promised bool) (*Version, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := m.loaded(b); v != nil {
		return v, nil
	}
	v, parent, err := m.read(b, promised)
	if err != nil {
		m.settle(b, nil, nil)
		return nil, fmt.Errorf("engine: base model %q: %w", b.Name, err)
	}
	m.settle(b, v, parent)
	return v, nil
}

// read reads a base model's weights and its adapter. The weights of another base model in the same folder are shared;
// that one is parent then, with one more user.
func (m *Memory) read(b *Base, promised bool) (v *Version, parent *Base, err error) {
	if b.Adapter == "" {
		w, err := m.readWeights(b, promised)
		if err != nil {
			return nil, nil, err
		}
		return m.newVersion(b, w, 0, nil), nil, nil
	}
	a, err := model.ReadPEFT(b.Adapter)
	if err != nil {
		return nil, nil, err
	}
	if err := a.CheckBase(b.Config.Frozen); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.Adapter, err)
	}
	a.Fill(b.Config)
	var w *model.Weights
	if parent = m.plain(b.Dir); parent != nil {
		shared, held, err := m.Use(parent, promised)
		if err != nil {
			return nil, nil, err
		}
		if w, err = shared.W, m.admit(b, a.LoRA.PackedBytes(shared.W.Config), promised); err != nil {
			held.End()
			return nil, nil, err
		}
		defer func() {
			if err != nil {
				held.End()
			}
		}()
	} else if w, err = m.readWeights(b, promised); err != nil {
		return nil, nil, err
	}
	adapter, err := w.NewAdapter(a.LoRA, a.Tensors, m.Compute.K)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.Adapter, err)
	}
	return m.newVersion(b, w, 0, adapter), parent, nil
}

// readWeights reads a base model's weights, for which it makes room. Files that have changed since they were first
// read are an error, since results would change with them; b.mu is held.
func (m *Memory) readWeights(b *Base, promised bool) (*model.Weights, error) {
	stamp, err := stampOf(b.Dir)
	if err != nil {
		return nil, err
	}
	if b.stamp != "" && b.stamp != stamp {
		return nil, tinker.Serverf("the weights in %s have changed since they were first read; restart the program, "+
			"or put the old files back", b.Dir)
	}
	n, err := b.weightBytes()
	if err != nil {
		return nil, err
	}
	if err := m.admit(b, n, promised); err != nil {
		return nil, err
	}
	w, err := model.LoadAs(b.Dir, b.Config.Frozen, m.Compute)
	if err == nil {
		b.stamp = stamp
	}
	return w, err
}

// weightBytes is the memory of the weights in the dtype that their files have.
func (b *Base) weightBytes() (int64, error) {
	c := b.Config
	var err error
	if c.BF16, err = model.StoredBF16(b.Dir, c); err != nil {
		return 0, err
	}
	c.BF16 = c.BF16 || c.Frozen != ""
	return c.WeightBytes(), nil
}

// stampOf names the weight files of a folder with their sizes and times.
func stampOf(dir string) (string, error) {
	names, err := model.WeightFiles(dir)
	if err != nil {
		return "", err
	}
	var stamp []byte
	for _, name := range names {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		stamp = fmt.Appendf(stamp, "%s %d %d\n", name, st.Size(), st.ModTime().UnixNano())
	}
	return string(stamp), nil
}
