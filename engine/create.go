package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// defaultAlpha is the LoRA alpha of a request that names none, the hosted service's value.
const defaultAlpha = 32

// CreateModel implements tinker.Service.
func (e *Engine) CreateModel(ctx context.Context, req tinker.CreateModelRequest) (tinker.TrainingClient, error) {
	d := newHasher("create_model").create(req)
	return e.create(ctx, req.SessionID, req.ModelSeqID, req.Owner, d, func(r *trainingRun) error {
		b, err := e.base(req.BaseModel)
		if err != nil {
			return err
		}
		if b.adapter != "" {
			return tinker.Userf("engine: base model %q has an adapter of its own and is for sampling only; train the "+
				"model below it", b.name)
		}
		if r.base, r.lora = b, req.LoRA; r.lora.Alpha == 0 {
			r.lora.Alpha = defaultAlpha
		}
		if err := checkLoRA(r.lora, req.RandomInit); err != nil {
			return err
		}
		if err := checkOptimizer(req.OptimizerType, r.lora); err != nil {
			return err
		}
		if err := b.checkRank(r.lora); err != nil && !r.promised { // an older version accepted it
			return err
		}
		if err := r.hold(r.promised); err != nil {
			return err
		}
		if r.lora.Seed == nil {
			seed := int64(e.draw() >> 1)
			r.lora.Seed = &seed
		}
		return r.begin(req.RandomInit, req.OptimizerType)
	})
}

func checkLoRA(l tinker.LoRA, random bool) error {
	switch {
	case l.Rank < 0 || l.Rank > 1<<12:
		return tinker.Userf("engine: LoRA rank %d; it must be 1 to %d, or 0 to train all weights", l.Rank, 1<<12)
	case l.Rank > 0 && l.Modules == "" && !l.TrainAttn && !l.TrainMLP && !l.TrainUnembed:
		return tinker.Userf("engine: a LoRA that trains nothing; set train_attn, train_mlp, train_unembed or " +
			"target_modules")
	case l.Modules != "" && unknownModule(l.Modules) != "":
		return tinker.Userf("engine: LoRA target_modules %q: %q is not one of %s", l.Modules, unknownModule(l.Modules),
			strings.Join(model.ModuleNames(), ", "))
	case !(l.Alpha > 0) || math.IsInf(l.Alpha, 0):
		return tinker.Userf("engine: LoRA alpha %v; it must be a positive number, or 0 for %d", l.Alpha, defaultAlpha)
	case random && l.Rank > 0:
		return tinker.Userf("engine: random_init with LoRA rank %d; random weights are trained whole, with rank 0",
			l.Rank)
	}
	return nil
}

// unknownModule returns the first of the names that is no module, "" if all are.
func unknownModule(names string) string {
	for _, n := range strings.Split(names, ",") {
		if !slices.Contains(model.ModuleNames(), n) {
			return n
		}
	}
	return ""
}

// begin makes the state of a new run.
func (r *trainingRun) begin(random bool, kind string) error {
	seed := uint64(*r.lora.Seed)
	if random {
		r.held = r.e.memory.enter(r.base)
		r.bf16 = r.base.config.BF16
		return r.start(model.RandomTensors(r.base.config, seed), kind, nil)
	}
	root, held, err := r.e.use(r.base, r.promised)
	if err != nil {
		return err
	}
	r.held = held
	r.e.memory.usedBy(r.base, r.owner)
	if r.full() {
		r.bf16 = root.w.Config.BF16
		return r.start(root.w.Tensors(), kind, nil)
	}
	return r.start(root.w.NewLoRA(modelLoRA(r.lora), seed), kind, root)
}

func (r *trainingRun) start(params []model.Tensor, kind string, root *version) error {
	sortByName(params)
	return r.install(params, newOptimizer(kind, params), root)
}

// CreateModelFromState implements tinker.Service.
func (e *Engine) CreateModelFromState(ctx context.Context,
	req tinker.CreateFromStateRequest) (tinker.TrainingClient, error) {
	h := newHasher("create_from_state")
	h.optimizer(req.OptimizerType)
	d := h.load(req.Path, req.Optimizer)
	return e.create(ctx, req.SessionID, req.ModelSeqID, req.Owner, d, func(r *trainingRun) error {
		e.store.mu.RLock()
		defer e.store.mu.RUnlock()
		m, p, dir, err := e.store.read(req.Path)
		if err != nil {
			return err
		}
		if p.Kind != tinker.KindState {
			return tinker.Userf("engine: %s holds weights for sampling only; create from a state, tinker://…/%s/…",
				req.Path, tinker.KindState)
		}
		if r.base, err = e.base(m.BaseModel); err != nil {
			return fmt.Errorf("engine: checkpoint %s: %w", req.Path, err)
		}
		r.lora, r.bf16 = m.LoRA, m.DType == "bf16"
		if err := r.hold(r.promised); err != nil {
			return err
		}
		root, err := r.root()
		if err != nil {
			return err
		}
		if err := r.fits(m, req.Path); err != nil {
			return err
		}
		kind, err := m.optimizerOf(req)
		if err != nil {
			return err
		}
		if err := r.installFrom(dir, m, req.Optimizer, kind, root); err != nil {
			return tinker.Serverf("engine: checkpoint %s: %w", req.Path, err)
		}
		return nil
	})
}

// create returns the run of a session and SeqID, which it makes if there is none.
func (e *Engine) create(ctx context.Context, session string, seq int64, owner string, d digest,
	fill func(*trainingRun) error) (tinker.TrainingClient, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if session == "" {
		session = fmt.Sprintf("%016x%016x", e.draw(), e.draw())
	}
	if err := checkSession(session, seq); err != nil {
		return nil, err
	}
	e.making.Lock() // one at a time: two requests with one key make one model
	defer e.making.Unlock()
	id := modelID(session, seq)
	if r, err := e.find(id); err != nil {
		return nil, err
	} else if r != nil {
		if r.created != d {
			return nil, tinker.Userf("engine: model %s was created with other settings; use another model_seq_id", id)
		}
		return r, nil
	}
	r := &trainingRun{e: e, id: id, created: d, owner: owner, promised: tinker.IsPromised(ctx)}
	err := fill(r)
	if err == nil {
		err = e.add(r, 0)
	}
	if err != nil {
		e.memory.release(r.id)
		r.held.end()
		return nil, err
	}
	return r, nil
}

func checkSession(session string, seq int64) error {
	bad := strings.ContainsFunc(session, func(c rune) bool {
		return c == '/' || unicode.IsControl(c) || c == unicode.ReplacementChar
	})
	if bad || len(escape(modelID(session, seq))) > 240 || seq < 0 {
		return tinker.Userf("engine: session_id %q with model_seq_id %d is invalid; use a short name without "+
			"a slash, and a number of 0 or more", session, seq)
	}
	return nil
}

// modelID is the id of a session's model, in the form that the protocol's clients rely on.
func modelID(session string, seq int64) string { return fmt.Sprintf("%s:train:%d", session, seq) }

// find returns the run of that id, nil if there is none.
func (e *Engine) find(id string) (*trainingRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed()
	}
	if e.unloaded[id] {
		return nil, errUnloaded(id)
	}
	return e.runs[id], nil
}

// add registers the run, which has executed the requests up to done.
func (e *Engine) add(r *trainingRun, done int64) error {
	r.share, r.optimizer = newShare(r.owner), r.opt.noted()
	r.q = queue{id: r.id, start: e.start, idle: r.rest, backlog: &e.waiting[tinker.Training],
		owner: r.owner,
		keep:  e.opts.KeepResults, keepBytes: e.opts.KeepBytes,
		requests: numbered.New[*queuedRequest](r.id), done: done, oldest: done + 1}
	r.q.requests.Reserve(done)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed()
	}
	e.runs[r.id] = r
	return nil
}

// OpenModel returns the client of an existing model.
func (e *Engine) OpenModel(_ context.Context, modelID string) (tinker.TrainingClient, error) {
	r, err := e.find(modelID)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, tinker.Userf("engine: model %s: %w", modelID, tinker.ErrNotFound)
	}
	return r, nil
}

// Models lists the ids of the models in memory, sorted.
func (e *Engine) Models() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.runs))
}
