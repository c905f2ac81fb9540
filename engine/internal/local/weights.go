package local

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
)

// use returns the weights of a version, which stay in memory until leave. One call loads them, others wait for it.
func (l *Executor) use(ctx context.Context, name executor.Version, from Source) (*loaded, error) {
	if name.Numerics != l.Numerics {
		return nil, fmt.Errorf("engine: a task in the arithmetic %q; this executor computes %s", name.Numerics,
			l.Numerics)
	}
	for {
		w, mine := l.find(name)
		if mine {
			w.err = l.load(ctx, w, from)
			close(w.ready)
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
			l.leave(w)
			return nil, context.Cause(ctx)
		}
		if w.err == nil {
			return w, nil
		}
		l.leave(w)
		if mine || ctx.Err() != nil {
			return nil, w.err
		} // the call that loaded them may have ended early, so this one tries itself
	}
}

// find returns a version with one more user; mine says that the caller must load it.
func (l *Executor) find(name executor.Version) (w *loaded, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.known, func(w *loaded) bool { return w.name == name })
	if mine = at < 0; mine {
		w = &loaded{name: name, ready: make(chan struct{})}
	} else {
		w = l.known[at]
		l.known = slices.Delete(l.known, at, at+1)
	}
	l.known = append(l.known, w)
	w.users++
	return w, mine
}

// leave ends one use. Weights that could not be loaded are forgotten, and unused ones beyond the limit.
func (l *Executor) leave(w *loaded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.users--
	sum := int64(0)
	for i := len(l.known) - 1; i >= 0; i-- {
		w := l.known[i]
		if !w.loaded() {
			if w.failed() {
				l.known = slices.Delete(l.known, i, i+1)
			}
			continue
		}
		n := w.v.OwnBytes()
		if sum += n; (n == 0 || sum > l.Limit) && w.users == 0 { // a base model has a time limit of its own
			sum -= n
			l.known = slices.Delete(l.known, i, i+1)
			w.held.End()
		}
	}
}

func (w *loaded) loaded() bool { return w.done() && w.err == nil }
func (w *loaded) failed() bool { return w.done() && w.err != nil }

func (w *loaded) done() bool {
	select {
	case <-w.ready:
		return true
	default:
		return false
	}
}

// load reads a version.
func (l *Executor) load(ctx context.Context, w *loaded, from Source) error {
	b, err := l.base(ctx, w.name, from)
	if err != nil {
		return err
	}
	var tensors []model.Tensor
	if w.name.Params != "" {
		path, err := from.Path(ctx, w.name.Params)
		if err != nil {
			return err
		}
		if tensors, err = checkpoint.ReadTensorsIn(path, w.name.BF16); err != nil {
			return err
		}
	}
	if err := l.build(w, b, tensors); err != nil {
		w.held.End()
		return err
	}
	w.queue = sampler.NewQueue("")
	return nil
}

// build makes the version of its tensors.
func (l *Executor) build(w *loaded, b *weights.Base, tensors []model.Tensor) (err error) {
	for _, t := range tensors {
		w.shapes = append(w.shapes, model.Tensor{Name: t.Name, Shape: t.Shape})
	}
	s := weights.Shape{Base: b, LoRA: w.name.LoRA, BF16: w.name.BF16}
	if w.name.Full() {
		w.held = l.Memory.Enter(b)
		w.v, err = l.Memory.Pack(s, tensors, nil)
		return err
	}
	root, held, err := l.Memory.Use(b, true)
	if err != nil {
		return err
	}
	w.held = held
	if root.W.Config.BF16 != w.name.BF16 {
		return fmt.Errorf("engine: the weights of base model %q are %s here, and a task needs the other dtype", b.Name,
			root.Dtype())
	}
	if w.v = root; w.name.Params != "" {
		w.v, err = l.Memory.Pack(s, tensors, root)
	}
	return err
}

// base returns the base model of a version.
func (l *Executor) base(ctx context.Context, name executor.Version, from Source) (*weights.Base, error) {
	l.mu.Lock()
	b := l.bases[name.Base]
	l.mu.Unlock()
	if b != nil {
		return b, nil
	}
	if l.Named {
		return l.Memory.ByFingerprint(name)
	}
	dir, err := from.Base(ctx, name)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.bases[name.Base]; b != nil {
		return b, nil
	}
	b, err = l.Memory.Open(name.Base, weights.Model{Dir: dir})
	if err == nil {
		l.bases[name.Base] = b
	}
	return b, err
}
