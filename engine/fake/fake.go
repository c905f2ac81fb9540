// Package fake is a service without arithmetic, for tests of what lies above the seam. It keeps every promise of
// package tinker, exact log-probabilities included, and computes a token in about a microsecond.
//
// Its model is a table: the vocabulary is divided into classes, and the logit of a class is a hash of the base model
// and the tokens before, plus a trained bias. The bias of class c is Gain·A·B[c], with A and B trained by the real
// losses and optimizers, so that a lost step, another seed or one dropped gradient changes every later bit.
//
// Service has the methods of journal.Machine, so a journal goes around it as around the engine. Checkpoints lie in the
// same places as the engine's, with other contents.
package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Service is the fake. Training requests run within the call that makes them runnable; samples are drawn on a goroutine
// of their own.
type Service struct {
	opts  engine.Options
	bases map[string]*base

	mu       sync.Mutex
	runs     map[string]*run
	unloaded map[string]bool
	closed   bool
	stop     context.CancelFunc
	alive    context.Context
	drawing  sync.WaitGroup
}

// base is a base model: what its config.json says, and a name's worth of noise.
type base struct {
	name    string
	context int // tokens
	table   table
	tokens  engine.TokenBytes
}

// Open opens the fake in place of an engine. It uses the options Dir, Models and FS, and a model's config.json. The
// models often say the phrases, such as moves of a game or calls of a tool.
func Open(o engine.Options, phrases ...string) (*Service, error) {
	o.FS = cmp.Or(o.FS, disk.OS())
	s := &Service{opts: o, bases: map[string]*base{}, runs: map[string]*run{}, unloaded: map[string]bool{}}
	s.alive, s.stop = context.WithCancel(context.Background())
	for name, m := range o.Models {
		b, err := newBase(name, m, phrases)
		if err != nil {
			return nil, fmt.Errorf("fake: model %s: %w", name, err)
		}
		s.bases[name] = b
	}
	return s, nil
}

func newBase(name string, m engine.Model, phrases []string) (*base, error) {
	c, err := describe(m.Dir)
	if err != nil {
		return nil, err
	}
	list, err := encode(m.Dir, phrases)
	if err != nil {
		return nil, err
	}
	salt := fnv.New64a()
	fmt.Fprint(salt, filepath.Base(m.Dir), filepath.Base(m.Adapter))
	return &base{name: name, context: c.Context, tokens: m.Tokens,
		table: newTable(salt.Sum64(), c.Vocab, append([]int32{c.End}, m.EndTokens...), list)}, nil
}

// description has the keys of config.json that the fake reads.
type description struct {
	Vocab   int   `json:"vocab_size"`
	Context int   `json:"max_position_embeddings"`
	End     int32 `json:"eos_token_id"`
}

func describe(dir string) (d description, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	return d, err
}

// Capabilities implements tinker.Service.
func (s *Service) Capabilities(context.Context) (tinker.Capabilities, error) {
	c := tinker.Capabilities{ExactLogprobs: true, ExactEntropy: true, FullParameter: true}
	for name, b := range s.bases {
		c.Models = append(c.Models, tinker.SupportedModel{Name: name, ContextLength: b.context})
	}
	slices.SortFunc(c.Models, func(a, b tinker.SupportedModel) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return c, nil
}

// Close implements tinker.Service.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, r := range s.runs {
		r.abandon(errClosed())
	}
	s.mu.Unlock()
	s.stop()
	s.drawing.Wait()
	return nil
}

// CreateModel implements tinker.Service.
func (s *Service) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	key := fmt.Sprintf("%+v", struct {
		base, kind string
		random     bool
		lora       tinker.LoRA
		seed       int64
	}{req.BaseModel, req.OptimizerType, req.RandomInit, withoutSeed(req.LoRA), seedOf(req.LoRA)})
	return s.create(ctx, req.SessionID, req.ModelSeqID, key, func(r *run) (err error) {
		if r.base, err = s.base(req.BaseModel); err != nil {
			return err
		}
		l := req.LoRA
		if l.Rank < 0 || l.Rank > 0 && l.Modules == "" && !l.TrainAttn && !l.TrainMLP && !l.TrainUnembed {
			return tinker.Userf("fake: a LoRA of rank %d that trains nothing", l.Rank)
		}
		l.Alpha = cmp.Or(l.Alpha, 32)
		if l.Seed == nil {
			seed := rand.Int64()
			l.Seed = &seed
		}
		r.lora = l
		r.state = newState(r.base.table, uint64(*l.Seed), req.OptimizerType)
		return nil
	})
}

func withoutSeed(l tinker.LoRA) tinker.LoRA { l.Seed = nil; return l }

func seedOf(l tinker.LoRA) int64 {
	if l.Seed == nil {
		return -1
	}
	return *l.Seed
}

// CreateModelFromState implements tinker.Service.
func (s *Service) CreateModelFromState(ctx context.Context,
	req tinker.CreateFromStateRequest) (tinker.TrainingClient, error) {
	key := fmt.Sprint("state ", req.Path, req.Optimizer, req.OptimizerType)
	return s.create(ctx, req.SessionID, req.ModelSeqID, key, func(r *run) error {
		c, err := s.read(req.Path, tinker.KindState)
		if err != nil {
			return err
		}
		if r.base, err = s.base(c.BaseModel); err != nil {
			return err
		}
		r.lora, r.state = c.LoRA, c.State
		if !req.Optimizer {
			kind := req.OptimizerType
			kind = cmp.Or(kind, c.State.Kind)
			r.state.reset(kind)
		}
		return nil
	})
}

// create returns the model of a session and number, which it makes if there is none.
func (s *Service) create(ctx context.Context, session string, seq int64, key string,
	fill func(*run) error) (tinker.TrainingClient, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if session == "" {
		session = fmt.Sprintf("%016x", rand.Uint64())
	}
	id := fmt.Sprintf("%s:train:%d", session, seq)
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if r != nil {
		if r.key != key {
			return nil, tinker.Userf("fake: model %s was created with other settings", id)
		}
		return r, nil
	}
	r = newRun(s, id, key)
	if err := fill(r); err != nil {
		return nil, err
	}
	s.runs[id] = r
	return r, nil
}

// find returns the model of that id, nil if there is none; s.mu is held.
func (s *Service) find(id string) (*run, error) {
	switch {
	case s.closed:
		return nil, errClosed()
	case s.unloaded[id]:
		return nil, tinker.Userf("fake: model %s: %w", id, tinker.ErrUnloaded)
	}
	return s.runs[id], nil
}

func (s *Service) base(name string) (*base, error) {
	if b := s.bases[name]; b != nil {
		return b, nil
	}
	return nil, tinker.Userf("fake: base model %q: %w", name, tinker.ErrUnserved)
}

// UnloadModel implements tinker.Unloader.
func (s *Service) UnloadModel(_ context.Context, id string) (*tinker.Future[tinker.UnloadOutput], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	r := s.runs[id]
	if r == nil && !s.unloaded[id] {
		return nil, tinker.Userf("fake: model %s: %w", id, tinker.ErrNotFound)
	}
	if r != nil {
		s.unloaded[id] = true
		r.abandon(tinker.Userf("fake: model %s: %w", id, tinker.ErrUnloaded))
		delete(s.runs, id)
	}
	return tinker.Resolved(tinker.UnloadOutput{ModelID: id}, nil), nil
}

func errClosed() error { return fmt.Errorf("fake: %w", tinker.ErrClosed) }
