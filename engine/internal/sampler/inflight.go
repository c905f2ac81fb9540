package sampler

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// An in-flight sampler exchanges its weights while its requests are computed. A request begins with the weights that
// the client has when it leaves its queue: they compute its prompt, from whose logits the first token of each sample is
// drawn. Between two steps, each sequence that is about to compute its last token takes the client's weights for it and
// for all later ones. The pages of the tokens before stay, as in PipelineRL (Piché et al. 2025, §4), and a sequence
// that has lost its pages computes each token again with the weights of the first time. Only pages that one version
// has computed from the beginning on are in the prefix cache.

// source is saved weights in memory, while a client or a request uses them.
type source struct {
	*weights.Version
	path  string
	held  *weights.Hold
	users int // guarded by target.mu
}

// Open reads saved weights into memory.
type Open func(ctx context.Context, path string) (*weights.Version, *weights.Hold, error)

// target is the weights of an in-flight sampler.
type target struct {
	model string // the training run
	open  Open

	moving sync.Mutex // held while weights are read
	mu     sync.Mutex
	now    *source
}

// move is a change of a sequence's weights: to compute the tokens from position at on.
type move struct {
	at int
	to *source
}

// flight is the weights of one request of an in-flight sampler.
type flight struct {
	of    *target
	first *source   // of the prompt; nil until the request begins
	used  []*source // released at its end
	again [][]move  // by sample; of a repeated one its weights from the prompt on
}

// read opens weights of the target's training run, for one user.
func (t *target) read(ctx context.Context, path string) (*source, error) {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return nil, err
	}
	if p.ModelID != t.model {
		return nil, tinker.Userf("engine: %s is of another training run than the sampler's, %s", path, t.model)
	}
	v, held, err := t.open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &source{Version: v, path: path, held: held, users: 1}, nil
}

// move replaces the weights.
func (t *target) move(ctx context.Context, path string) error {
	t.moving.Lock()
	defer t.moving.Unlock()
	if t.current().path == path {
		return nil
	}
	to, err := t.read(ctx, path)
	if err != nil {
		return err
	}
	t.mu.Lock()
	old := t.now
	t.now = to
	t.mu.Unlock()
	t.leave(old)
	return nil
}

// current is the weights now; only a user of them may use them.
func (t *target) current() *source {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// leave ends a use of weights.
func (t *target) leave(s *source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.users--; s.users == 0 {
		s.held.End()
	}
}

// take is the weights now, which the flight uses until its end.
func (f *flight) take() *source {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	to := f.of.now
	if !slices.Contains(f.used, to) {
		to.users++
		f.used = append(f.used, to)
	}
	return to
}

// newFlight opens the versions that a repeated request had.
func (t *target) newFlight(ctx context.Context, req tinker.SampleRequest) (*flight, error) {
	if err := tinker.CheckVersions(req); err != nil {
		return nil, err
	}
	f, known := &flight{of: t, again: make([][]move, len(req.Versions))}, map[string]*source{}
	for i, list := range req.Versions {
		for _, v := range list {
			to := known[v.Path]
			if to == nil {
				var err error
				if to, err = t.read(ctx, v.Path); err != nil {
					f.end()
					return nil, err
				}
				known[v.Path], f.used = to, append(f.used, to)
			}
			if f.first == nil {
				f.first = to
			}
			f.again[i] = append(f.again[i], move{req.Prompt.Len() + v.From - 1, to})
		}
	}
	return f, nil
}

// end releases the weights that a request has used; nil is none.
func (f *flight) end() {
	if f == nil {
		return
	}
	for _, s := range f.used {
		f.of.leave(s)
	}
	f.used = nil
}

// takeOff gives a request of an in-flight sampler that begins the weights of its prompt.
func (s *Request) takeOff() {
	if s.flight == nil {
		return
	}
	if s.flight.first == nil {
		s.flight.first = s.flight.take()
	}
	s.version = s.flight.first.Version
	s.scope.Version = s.version.ID
}

// repeats reports whether samples of a request may have changes of their weights to repeat, each its own.
func (s *Request) repeats() bool { return s.flight != nil && len(s.flight.again) > 0 }

// follow gives the samples of a sequence that is about to compute their last token the weights for it.
func (l *sequence) follow() {
	f := l.s.flight
	if f == nil || l.prompting() || len(l.tokens)-l.done != 1 {
		return
	}
	to := l.drawer()
	if again := f.repeated(l.samples[0]); again == nil {
		to = f.take()
	} else if next := len(l.moves) + 1; next < len(again) && again[next].at == l.done {
		to = again[next].to
	}
	if to != l.drawer() {
		l.moves = append(slices.Clip(l.moves), move{l.done, to}) // other sequences may have the same moves
	}
}

// repeated is the weights that a sample had before; nil if it has none to repeat.
func (f *flight) repeated(one sample) []move {
	if one.index < len(f.again) {
		return f.again[one.index]
	}
	return nil
}

// drawer is the weights that drew the last token; nil for those of a snapshot.
func (l *sequence) drawer() *source {
	switch n := len(l.moves); {
	case n > 0:
		return l.moves[n-1].to
	case l.s.flight == nil:
		return nil
	}
	return l.s.flight.first
}

// version is the weights that compute the next token.
func (l *sequence) version() *weights.Version {
	for _, m := range slices.Backward(l.moves) {
		if m.at <= l.done {
			return m.to.Version
		}
	}
	return l.s.version
}

// pure is the number of tokens that the weights of the prompt compute, at most n.
func (l *sequence) pure(n int) int {
	if len(l.moves) > 0 {
		return min(n, l.moves[0].at)
	}
	return n
}

// rest is the number of tokens that one version computes next. The last token of a sample is computed alone, so that
// its weights can follow. A memory that is kept ends a pass.
func (l *sequence) rest() int {
	end := len(l.tokens)
	if l.s.flight != nil && !l.prompting() && end-l.done > 1 {
		end--
	}
	for _, m := range l.moves {
		if m.at > l.done {
			end = min(end, m.at)
		}
	}
	if mark := l.mark(l.done); mark > 0 && l.cache().Remembers() {
		end = min(end, mark)
	}
	return end - l.done
}

// note adds the weights that drew a token to its sample; version is their path if they are others than before.
func (d drawnToken) note(q *tinker.SampledSequence) (version string) {
	if d.by == nil {
		return ""
	}
	if n := len(q.Versions); n > 0 && q.Versions[n-1].Path == d.by.path {
		return ""
	}
	q.Versions = append(q.Versions, tinker.Version{From: len(q.Tokens) - 1, Path: d.by.path})
	return d.by.path
}
