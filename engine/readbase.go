package engine

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// use returns the untouched weights, which it reads if they are not in memory. They stay there until the use ends. A
// promised use is not refused for lack of memory.
func (m *memory) use(b *base, promised bool) (*version, *memoryUse, error) {
	held := m.enter(b)
	v, err := m.load(b, promised)
	if err != nil {
		held.end()
		return nil, nil, err
	}
	return v, held, nil
}

// load is use for a base model that has a user already.
func (m *memory) load(b *base, promised bool) (*version, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := m.loaded(b); v != nil {
		return v, nil
	}
	v, parent, err := m.read(b, promised)
	if err != nil {
		m.settle(b, nil, nil)
		return nil, fmt.Errorf("engine: base model %q: %w", b.name, err)
	}
	m.settle(b, v, parent)
	return v, nil
}

// read reads a base model's weights and its adapter. The weights of another base model in the same folder are shared;
// that one is parent then, with one more user.
func (m *memory) read(b *base, promised bool) (v *version, parent *base, err error) {
	if b.adapter == "" {
		w, err := m.readWeights(b, promised)
		if err != nil {
			return nil, nil, err
		}
		return m.newVersion(b, w, 0, nil), nil, nil
	}
	a, err := model.ReadPEFT(b.adapter)
	if err != nil {
		return nil, nil, err
	}
	var w *model.Weights
	if parent = m.plain(b.dir); parent != nil {
		shared, held, err := m.use(parent, promised)
		if err != nil {
			return nil, nil, err
		}
		if w, err = shared.w, m.admit(b, a.LoRA.PackedBytes(shared.w.Config), promised); err != nil {
			held.end()
			return nil, nil, err
		}
		defer func() {
			if err != nil {
				held.end()
			}
		}()
	} else if w, err = m.readWeights(b, promised); err != nil {
		return nil, nil, err
	}
	adapter, err := w.NewAdapter(a.LoRA, a.Tensors, m.compute.K)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.adapter, err)
	}
	return m.newVersion(b, w, 0, adapter), parent, nil
}

// readWeights reads a base model's weights, for which it makes room. Files that have changed since they were first
// read are an error, since results would change with them; b.mu is held.
func (m *memory) readWeights(b *base, promised bool) (*model.Weights, error) {
	stamp, err := stampOf(b.dir)
	if err != nil {
		return nil, err
	}
	if b.stamp != "" && b.stamp != stamp {
		return nil, tinker.Serverf("the weights in %s have changed since they were first read; restart the program, "+
			"or put the old files back", b.dir)
	}
	n, err := b.weightBytes()
	if err != nil {
		return nil, err
	}
	if err := m.admit(b, n, promised); err != nil {
		return nil, err
	}
	w, err := model.Load(b.dir, m.compute)
	if err == nil {
		b.stamp = stamp
	}
	return w, err
}

// weightBytes is the memory of the weights in the dtype that their files have.
func (b *base) weightBytes() (int64, error) {
	c := b.config
	var err error
	if c.BF16, err = model.StoredBF16(b.dir, c); err != nil {
		return 0, err
	}
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
