package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// With a pool, the parts of a training request are computed by this process and by other machines at the same time:
// each takes the next part when it is free. Results are used in the order of the parts, so they have the bits of one
// process, and so do errors: what fails elsewhere is computed here, and its error is the request's.

// spreading is what the engine knows about the work that it spreads.
type spreading struct {
	mu      sync.Mutex
	perTok  [2]float64 // seconds that this process takes per token of a forward and of a gradient; 0: not measured
	samples sampleShares
}

// took records how long a part took here.
func (s *spreading) took(backward bool, tokens int, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.perTok[passKind(backward)]
	if per := d.Seconds() / float64(max(1, tokens)); *at == 0 {
		*at = per
	} else {
		*at += float64((per - *at) / 4)
	}
}

// patience is how long a part may be under way elsewhere before this process, if it has nothing else to do, computes it
// too.
func (s *spreading) patience(backward bool, tokens int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	per := cmp.Or(s.perTok[passKind(backward)], 0.01)
	return time.Second + time.Duration(2*per*float64(tokens)*float64(time.Second))
}

func passKind(backward bool) int {
	if backward {
		return 1
	}
	return 0
}

// spreads reports whether a request's parts are spread over the pool.
func (r *trainingRun) spreads(parts [][]checkedDatum) bool {
	return r.e.opts.Pool != nil && (len(parts) > 1 || r.e.opts.PoolOnly)
}

// spreadRequest is a request under way. The goroutine of the run's queue owns it.
type spreadRequest struct {
	r        *trainingRun
	ctx      context.Context   // ends with the request
	receipts executor.Receipts // of the pool's results that are used
	loss     loss.Loss
	request  tinker.ForwardRequest
	collect  func(executor.Gradient) error // nil: no gradient
	version  executor.Version

	parts   []spreadPart
	next    int // first part that is not begun
	used    int // parts whose results are used
	window  int // parts that may be begun beyond used
	here    int // part that this process computes; -1: none
	results chan partResult
}

// spreadPart is a part under way.
type spreadPart struct {
	items   []checkedDatum
	tokens  int
	sent    time.Time // when it was given to the pool; zero: it was not
	away    bool      // the pool computes it
	refused bool      // the pool failed at it
	result  *partResult
}

// partResult is what a part gives.
type partResult struct {
	part     int
	here     bool
	outputs  []executor.Output
	gradient executor.Gradient
	receipts *executor.Receipts // of the pool
	err      error
}

// spreadOver fails with errDoubted if its results must be computed again. It computes parts and hands their gradients
// to collect, in order; nil: none are computed.
func (r *trainingRun) spreadOver(req tinker.ForwardRequest, l loss.Loss, parts [][]checkedDatum,
	collect func(executor.Gradient) error) error {
	version, err := r.e.identify(r.version)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(executor.WithTenant(r.e.ctx, r.owner))
	defer cancel()
	s := &spreadRequest{r: r, ctx: ctx, loss: l, request: req, collect: collect, version: version, here: -1,
		window: r.window(collect != nil), results: make(chan partResult, 2*len(parts))}
	for _, items := range parts {
		p := spreadPart{items: items}
		for i := range items {
			p.tokens += len(items[i].tokens)
		}
		s.parts = append(s.parts, p)
	}
	for s.used < len(s.parts) {
		changed := r.e.opts.Pool.Changed()
		if err := s.begin(); err != nil {
			return err
		}
		if err := s.wait(changed); err != nil {
			return err
		}
		if err := s.use(); err != nil {
			return err
		}
	}
	if !s.receipts.Use() {
		r.e.opts.Log.Warn("engine: a machine was found to be wrong; what it gave to this request is computed again",
			"model", r.id)
		return errDoubted
	}
	return nil
}

// errDoubted means that results were used that are not trusted any more.
var errDoubted = errors.New("engine: results are not trusted any more")

// window is how many parts may be under way or wait for an earlier one.
func (r *trainingRun) window(backward bool) int {
	if !backward {
		return 1 << 10
	}
	bytes := int64(1)
	for _, a := range r.grads.Accumulators() {
		bytes += 4 * int64(len(a))
	}
	return int(min(1<<10, max(2, r.e.opts.PoolBytes/bytes)))
}

// begin gives out the parts that somebody is free for.
func (s *spreadRequest) begin() error {
	e := s.r.e
	if err := e.ctx.Err(); err != nil {
		return errClosed()
	}
	if i := s.forHere(); i >= 0 {
		items, tokens := apart(s.parts[i].items), s.parts[i].tokens
		aside := s.r.aside() // now: the request may end, and the weights change, before the part begins
		if !e.start(func() { s.computeHere(i, aside, items, tokens) }) {
			return errClosed()
		}
		s.here = i
	}
	for ; s.mayBegin() && s.underWay() < s.most() && e.opts.Pool.Room() > 0; s.next++ {
		i, b := s.next, s.batch(s.next)
		s.parts[i].sent, s.parts[i].away = time.Now(), true
		if !e.start(func() { s.computeAway(i, b) }) {
			return errClosed()
		}
	}
	return nil
}

// apart copies items with results of their own: the pool may be first with its.
func apart(items []checkedDatum) []checkedDatum {
	items = slices.Clone(items)
	for i := range items {
		it := &items[i]
		it.logp = make([]float32, len(it.logp))
		if it.h != nil {
			it.h, it.mid = make([]float32, len(it.h)), make([]float32, len(it.mid))
		}
	}
	return items
}

// underWay is how many parts the pool has.
func (s *spreadRequest) underWay() (n int) {
	for i := s.used; i < s.next; i++ {
		if s.parts[i].away {
			n++
		}
	}
	return n
}

// most is how many parts the pool may have: one that is computed and one that waits for each executor, and no waiting
// ones at the end of a request, so that everybody ends at about the same time.
func (s *spreadRequest) most() int {
	n := s.r.e.opts.Pool.Executors()
	if len(s.parts)-s.next <= n+1 {
		return n
	}
	return 2 * n
}

func (s *spreadRequest) mayBegin() bool { return s.next < len(s.parts) && s.next < s.used+s.window }

// forHere is the part that this process computes next; -1 is none.
func (s *spreadRequest) forHere() int {
	if s.here >= 0 {
		return -1
	}
	for i := s.used; i < s.next; i++ {
		p := &s.parts[i]
		late := p.away && !s.r.e.opts.PoolOnly &&
			time.Since(p.sent) > s.r.e.spread.patience(s.collect != nil, p.tokens) && !s.mayBegin()
		if p.result == nil && (p.refused || late) {
			return i
		}
	}
	if s.mayBegin() && (!s.r.e.opts.PoolOnly || s.r.e.opts.Pool.Executors() == 0) {
		s.next++
		return s.next - 1
	}
	return -1
}

// wait waits for a result, or until somebody may be free.
func (s *spreadRequest) wait(changed <-chan struct{}) error {
	var late <-chan time.Time
	if s.here < 0 && !s.r.e.opts.PoolOnly {
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case res := <-s.results:
		s.note(res)
	case <-changed:
	case <-late:
	case <-s.r.e.ctx.Done():
		return errClosed()
	}
	return nil
}

// note records a result. The first one of a part counts.
func (s *spreadRequest) note(res partResult) {
	p := &s.parts[res.part]
	if res.here {
		s.here = -1
	} else {
		p.away = false
	}
	switch {
	case p.result != nil:
	case res.here || res.err == nil:
		p.result = &res
	default:
		p.refused = true
		s.r.e.opts.Log.Warn("engine: a part that failed elsewhere is computed here", "model", s.r.id, "part", res.part,
			"error", res.err)
	}
}

// use takes the results that are next in order.
func (s *spreadRequest) use() error {
	for s.used < len(s.parts) && s.parts[s.used].result != nil {
		p := &s.parts[s.used]
		if p.result.err != nil {
			return p.result.err
		}
		for i, o := range p.result.outputs {
			p.items[i].logp, p.items[i].h, p.items[i].mid, p.items[i].sum = o.Logprobs, o.Entropy, o.Centre, o.Loss
		}
		if s.collect != nil {
			if err := s.collect(p.result.gradient); err != nil {
				return err
			}
		}
		if p.result.receipts != nil {
			s.receipts.Add(p.result.receipts)
		}
		p.result = &partResult{} // its memory is free
		s.used++
	}
	return nil
}

// computeHere computes a part on this process's threads, with r, a run aside.
func (s *spreadRequest) computeHere(i int, r *trainingRun, items []checkedDatum, tokens int) {
	res := partResult{part: i, here: true}
	var into *model.Grads
	if s.collect != nil {
		into = model.NewGrads(s.r.params)
	}
	defer r.e.training.idle(r)
	since := time.Now()
	if res.err = r.pass(s.ctx, s.loss, items, into); res.err == nil {
		r.e.spread.took(into != nil, tokens, time.Since(since))
		if res.outputs = outputsOf(items); into != nil {
			res.gradient = into.Independent()
		}
	}
	s.results <- res
}

// aside is a run for a part that is computed beside others of the same request, at the same share.
func (r *trainingRun) aside() *trainingRun {
	a := &trainingRun{e: r.e, id: r.id, owner: r.owner, base: r.base, lora: r.lora, bf16: r.bf16, share: r.share}
	a.version = r.version
	return a
}

// computeAway has the pool compute a part.
func (s *spreadRequest) computeAway(i int, b executor.Batch) {
	res := partResult{part: i, receipts: &executor.Receipts{}}
	pool, ctx := s.r.e.opts.Pool, executor.WithReceipts(s.ctx, res.receipts)
	if s.collect == nil {
		res.outputs, res.err = pool.Forward(ctx, s.version, b)
	} else {
		res.outputs, res.gradient, res.err = pool.Gradient(ctx, s.version, b)
		if res.err == nil && !s.r.grads.Fits(res.gradient) {
			res.err = tinker.Serverf("engine: a gradient of other tensors than the model's")
		}
	}
	s.results <- res
}

// clearResults makes items as they were before they were computed.
func clearResults(items []checkedDatum) {
	for i := range items {
		items[i].sum = 0
	}
}

// batch is what a task says about a part.
func (s *spreadRequest) batch(part int) executor.Batch {
	b := executor.Batch{Loss: s.request.LossFn, Config: s.request.LossFnConfig}
	for i := range s.parts[part].items {
		b.Data = append(b.Data, s.parts[part].items[i].datum())
	}
	return b
}

// datum is what a task says about an item: the inputs that its loss reads.
func (it *checkedDatum) datum() tinker.Datum {
	inputs := map[string]tinker.Tensor{tinker.TargetTokens: {Shape: it.Shape, Int: tinker.TokenInts(it.Targets).Int}}
	for key, v := range map[string][]float32{tinker.Weights: it.Weights, tinker.Logprobs: it.Logprobs,
		tinker.Advantages: it.Advantages, tinker.SequenceRatioMask: it.RatioMask, tinker.SampledMask: it.Sampled} {
		if v != nil {
			inputs[key] = tinker.Tensor{Shape: it.Shape, Float: v}
		}
	}
	if it.EntropyWeights != nil {
		inputs[tinker.EntropyWeights] = tinker.Floats(it.EntropyWeights)
	}
	return tinker.Datum{ModelInput: tinker.Text(it.tokens), LossFnInputs: inputs}
}
