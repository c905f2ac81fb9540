package studio

import (
	"context"
	"math"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// entropies are the entropies of a file's samples.
type entropies map[rollout.EntropyKey]rollout.Entropy

// entropies reads a file's entropies; nil if there are none or they cannot be read.
func (e *entry) entropies(ctx context.Context, f *rollout.Indexed) entropies {
	folder, ok := e.folder.(rollout.Measured)
	if !ok {
		return nil
	}
	found, err := folder.Entropies(ctx, f.File)
	if err != nil {
		e.opts.Log.Warn("entropies cannot be read", "run", e.id, "file", f.File.Name, "error", err)
	}
	return found
}

// of returns a sample's entropy if the weights that sampled it had it. Other weights have another distribution.
func (m entropies) of(r *rollout.Row) (rollout.Entropy, bool) {
	found, ok := m[r.EntropyKey()]
	return found, ok && found.Version == int(r.Version)
}

// mean is a sample's mean; nil if it is not known.
func (m entropies) mean(r *rollout.Row) *float64 {
	found, ok := m.of(r)
	if !ok {
		return nil
	}
	return rollout.Finite(found.Mean)
}

// measured fills in a sample's mean entropy and returns the entropy of each token of the answer, if it is known.
func (e *entry) measured(ctx context.Context, f *rollout.Indexed, i int, out *Sample) []float32 {
	found, ok := e.entropies(ctx, f).of(&f.Rows[i])
	if !ok {
		return nil
	}
	if out.Entropy == nil {
		out.Entropy = rollout.Finite(found.Mean)
	}
	each, err := e.folder.(rollout.Measured).EachEntropy(f.File, found)
	if err != nil {
		e.opts.Log.Warn("entropies cannot be read", "run", e.id, "file", f.File.Name, "error", err)
	}
	return each
}

// sort sorts places by a field; "" leaves them.
func (e *entry) sort(ctx context.Context, t *rollout.Table, list []rollout.Place, order string) error {
	if name, down := strings.CutPrefix(order, "-"); name == "entropy" {
		e.sortByEntropy(ctx, t, list, down)
		return nil
	}
	if order != "" && !t.Sort(list, order) {
		return invalid("sort=%q is not known; it is one of %s, with a minus in front for the largest first", order,
			strings.Join(rollout.Orders(), ", "))
	}
	return nil
}

func (e *entry) sortByEntropy(ctx context.Context, t *rollout.Table, list []rollout.Place, down bool) {
	known := map[int32]entropies{}
	t.SortBy(list, down, func(p rollout.Place) float64 {
		f, r := t.At(p)
		if r.Entropy == r.Entropy {
			return float64(r.Entropy)
		}
		m, ok := known[p.File]
		if !ok {
			m = e.entropies(ctx, f)
			known[p.File] = m
		}
		if v := m.mean(r); v != nil {
			return *v
		}
		return math.NaN()
	})
}
