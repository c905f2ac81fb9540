package engine

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// deep is a model of some layers, so that a pass has many pauses.
func deep(t testing.TB) map[string]Model {
	return map[string]Model{baseName: {Dir: writeShape(t, true, true,
		map[string]any{"vocab_size": vocab, "hidden_size": 32, "num_hidden_layers": 5,
			"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "intermediate_size": 40,
			"max_position_embeddings": context_}, 6)}}
}

// until waits for what another goroutine does.
func until(ok func() bool) {
	for !ok() {
		runtime.Gosched()
	}
}

func (t *turn) waits(s side) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[s] != nil
}

// A sample that arrives while any layer of a training step is computed gets its first step before the next layer.
// Neither side changes the other's bits.
func TestSamplingWaitsForOneLayer(t *testing.T) {
	models := deep(t)
	for _, tape := range []int64{0, 1} { // keeping activations, and recomputing them
		alone, e := open(t, Options{Models: models, TapeBytes: tape}),
			open(t, Options{Models: models, TapeBytes: tape, MicroBatch: 100})
		c, twin := create(t, e, 0, lora(4)), create(t, alone, 0, lora(4))
		base, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
		if err != nil {
			t.Fatal(err)
		}
		r := sampleRequest(1, 1, 7, mixed[0]) // one step each
		want := draw(t, base, r)
		between := e.training.runner.Between
		pauses, late := 0, 0
		arrived, steps := false, int64(0)
		var futures []*tinker.Future[tinker.SampleResponse]
		e.training.runner.Between = func() error { // a sample arrives in every layer
			err := between()
			if arrived && e.figures.steps.Load() <= steps {
				late++
			}
			pauses++
			f, serr := base.Sample(testContext(t), r)
			if serr != nil {
				t.Error(serr)
			}
			futures, arrived, steps = append(futures, f), true, e.figures.steps.Load()
			until(func() bool { return e.turn.waits(forSamples) })
			return err
		}
		train(t, c, 2, mixed...)
		train(t, twin, 2, mixed...)
		e.training.runner.Between = between
		// each micro-batch of the two steps has at least 5 layers forward, 5 backward and the head twice
		if late > 0 || pauses < 2*2*12 || e.Stats().Preemptions < int64(pauses)*9/10 {
			t.Errorf("%d of %d samples waited for more than a layer; %d preemptions", late, pauses,
				e.Stats().Preemptions)
		}
		for _, f := range futures {
			if got := value(t, f, nil); !sameSamples(got, want) {
				t.Fatalf("a sample between layers differs: %v, alone %v", got, want)
			}
		}
		if !allSame(c.(*trainingRun).opt.adam.M, twin.(*trainingRun).opt.adam.M) ||
			!allSame(logprobs(t, c, mixed...), logprobs(t,
				twin, mixed...)) {
			t.Error("training with samples between its layers has other bits")
		}
	}
}

// hold keeps the compute loop from beginning until release, which waits for that many jobs.
func hold(e *Engine) (release func(jobs int)) {
	e.turn.take(forSamples)
	return func(jobs int) {
		until(func() bool {
			e.training.mu.Lock()
			defer e.training.mu.Unlock()
			return len(e.training.jobs) == jobs
		})
		e.turn.done(forSamples)
	}
}

// job of one model in TestModelsShareAPass.
type work struct {
	rank, wrong int // 1: weights that overflow; 2: a gradient that does
	reqs        []tinker.ForwardRequest
}

// draft draws the work of one model.
func draft(t *rapid.T, i int) work {
	w := work{rank: rapid.SampledFrom([]int{1, 4, 7, 16}).Draw(t, "rank"),
		wrong: rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2}).Draw(t, "wrong")}
	for j := range rapid.IntRange(1, 3).Draw(t, "requests") {
		r := tinker.ForwardRequest{LossFn: rapid.SampledFrom([]string{tinker.CrossEntropy, tinker.ImportanceSampling,
			tinker.PPO}).Draw(t, "loss")}
		for range rapid.IntRange(1, 3).Draw(t, "data") {
			d := datum(tokens(i*7+j, rapid.IntRange(2, 60).Draw(t, "tokens")))
			if r.LossFn != tinker.CrossEntropy {
				w := d.LossFnInputs[tinker.Weights]
				d.LossFnInputs = map[string]tinker.Tensor{tinker.TargetTokens: d.LossFnInputs[tinker.TargetTokens],
					tinker.Advantages: w,
					tinker.Logprobs:   tinker.Floats(make([]float32, len(w.Float)))}
			}
			r.Data = append(r.Data, d)
		}
		if rapid.IntRange(0, 3).Draw(t, "entropic") == 0 {
			r.LossFnConfig = map[string]float64{tinker.EntropyCoef: rapid.Float64Range(-1, 1).Draw(t, "entropy_coef")}
		}
		w.reqs = append(w.reqs, r)
	}
	if w.wrong == 2 {
		d := datum(tokens(i, 20))
		for k := range d.LossFnInputs[tinker.Weights].Float {
			d.LossFnInputs[tinker.Weights].Float[k] = 3.3e38
		}
		w.reqs = append(w.reqs, tinker.ForwardRequest{LossFn: tinker.CrossEntropy, Data: []tinker.Datum{d}})
	}
	return w
}

// prepare makes the model of w; some have weights that overflow.
func (w work) prepare(t testing.TB, e *Engine, seq int64) *trainingRun {
	r := create(t, e, seq, lora(w.rank)).(*trainingRun)
	for _, p := range r.params {
		for i := range p.Data {
			p.Data[i] += 0.02 * float32(i%7-3)
			if w.wrong == 1 && strings.Contains(p.Name, "layers.1.mlp.down_proj") {
				p.Data[i] = 3e38
			}
		}
	}
	v, err := r.pack(r.params, r.version)
	if err != nil {
		t.Fatal(err)
	}
	r.version = v
	return r
}

// outcome is what a client sees of w's requests.
func outcome(t testing.TB, futures []*tinker.Future[tinker.ForwardOutput]) (all [][]float32, errs string) {
	for _, f := range futures {
		o, err := f.Wait(testContext(t))
		if err != nil {
			errs += err.Error() + "\n"
		}
		all = append(append(all, outputs(o)...), []float32{float32(o.Metrics["loss:sum"])})
		for _, rec := range o.LossFnOutputs {
			all = append(all, rec[tinker.Entropy].Float, rec[tinker.EntropyCentre].Float)
		}
	}
	return all, errs
}

// Waiting forward_backwards of any models share passes, whatever their rank, loss and length and even if some are
// invalid. Each gets the results, the gradient and the errors that it gets alone.
func TestModelsShareAPass(t *testing.T) {
	models := map[string]Model{baseName: {Dir: writeModel(t, true, true)}}
	round := 0
	shared := int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		round++
		e, alone := open(t, Options{Models: models, MicroBatch: rapid.SampledFrom([]int{64, 300, 2048}).Draw(rt,
			"micro")}), open(t, Options{Models: models})
		var all []work
		var runs, twins []*trainingRun
		for i := range rapid.IntRange(2, 7).Draw(rt, "models") {
			w := draft(rt, i)
			all = append(all, w)
			runs, twins = append(runs, w.prepare(t, e, int64(i))), append(twins, w.prepare(t, alone, int64(i)))
		}
		release := hold(e)
		send := func(r *trainingRun, w work) (futures []*tinker.Future[tinker.ForwardOutput]) {
			for _, req := range w.reqs {
				f, err := r.ForwardBackward(testContext(t), req)
				if err != nil {
					rt.Fatal(err)
				}
				futures = append(futures, f)
			}
			return futures
		}
		var futures [][]*tinker.Future[tinker.ForwardOutput]
		for i, w := range all {
			futures = append(futures, send(runs[i], w))
		}
		release(len(all))
		for i, w := range all {
			got, errs := outcome(t, futures[i])
			want, wantErrs := outcome(t, send(twins[i], w))
			if !allSame(got, want) || errs != wantErrs || (w.wrong > 0) != (errs != "") {
				rt.Fatalf("model %d of %+v: other results; errors %q, alone %q", i, w, errs, wantErrs)
			}
			if !allSame(runs[i].grads.Accumulators(), twins[i].grads.Accumulators()) {
				rt.Fatalf("model %d of %+v: another gradient", i, w)
			}
		}
		s := e.Stats()
		shared += s.PassModels - s.Passes
		e.Close()
		alone.Close()
	})
	if shared < int64(round) {
		t.Errorf("in %d rounds only %d micro-batches shared a pass", round, shared)
	}
}

// Models whose next requests are already queued stay together: none runs ahead while another is between two requests.
func TestModelsStayTogether(t *testing.T) {
	e := open(t, Options{})
	const n, steps = 6, 10
	release := hold(e)
	var last []*tinker.Future[tinker.OptimStepOutput]
	for i := range n {
		c := create(t, e, int64(i), lora(1+i))
		for step := range steps {
			if _, err := c.ForwardBackward(testContext(t), batch(mixed[step%len(mixed)])); err != nil {
				t.Fatal(err)
			}
			o, err := c.OptimStep(testContext(t), adam(1e-3))
			if err != nil {
				t.Fatal(err)
			}
			last = append(last, o)
		}
	}
	release(n)
	for _, o := range last {
		value(t, o, nil)
	}
	if s := e.Stats(); s.Passes != steps || s.PassModels != n*steps {
		t.Errorf("%d passes with %d micro-batches, want %d with %d", s.Passes, s.PassModels, steps, n*steps)
	}
}

// watch records the order in which futures end; it looks between the layers of a runner's passes.
func watch(names []string, futures map[string]<-chan struct{}, order *[]string) func() error {
	return func() error {
		for _, name := range names {
			select {
			case <-futures[name]:
				if !slices.Contains(*order, name) {
					*order = append(*order, name)
				}
			default:
			}
		}
		return nil
	}
}

// One tenant has ten models with endless requests, another two, and a third one model that comes late. Tenants take
// turns by tokens, and so do the models of a tenant; the late one begins at the share of the others.
func TestTrainingIsFair(t *testing.T) {
	e := open(t, Options{MicroBatch: 1}) // one job per pass
	tr := e.training
	next := func(r *trainingRun, tokens int) {
		if !r.present {
			tr.shares.enter(r.share)
			r.present = true
		}
		tr.jobs = append(tr.jobs, &job{r: r, microBatch: microBatch{tokens: tokens}, alone: func() {},
			done: make(chan struct{})})
	}
	model := func(owner string, tokens int) {
		next(&trainingRun{e: e, id: owner + fmt.Sprint(len(tr.jobs)), owner: owner, share: newShare(owner),
			lora: lora(1)}, tokens)
	}
	for range 10 {
		model("a", 9)
	}
	model("b", 9)
	model("b", 19)
	var order []string
	for i := range 60 {
		if i == 40 {
			model("c", 9)
		}
		j := tr.choose()[0]
		order = append(order, j.r.id)
		tr.finish([]*job{j})
		tr.settle(j.r)
		next(j.r, j.tokens)
	}
	want := strings.Fields("a0 b10 a1 b11 a2 a3 b10 a4 b10 a5 b11 a6 a7 b10 a8 b10 a9 b11 a0 a1 b10")
	if got := order[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("models had their turns in the order\n%v, want\n%v", got, want)
	}
	if late := order[40:46]; !slices.Contains(late[:3], "c12") ||
		strings.Count(strings.Join(order[40:], " "), "c12") > 8 {
		t.Errorf("after the late one's coming: %v", order[40:])
	}
}

// A client's single request does not wait for another client's thousand.
func TestThousandRequestsWaitForOne(t *testing.T) {
	e := open(t, Options{})
	release := hold(e)
	big, small := create(t, e, 0, lora(2)), create(t, e, 1, lora(2))
	var last *tinker.Future[tinker.ForwardOutput]
	for range 1000 {
		f, err := big.ForwardBackward(testContext(t), batch(mixed[1]))
		if err != nil {
			t.Fatal(err)
		}
		last = f
	}
	f, err := small.ForwardBackward(testContext(t), batch(mixed[1]))
	if err != nil {
		t.Fatal(err)
	}
	seen, between := int64(-1), e.training.runner.Between
	e.training.runner.Between = func() error {
		select {
		case <-f.Done():
			if q := &big.(*trainingRun).q; seen < 0 {
				q.mu.Lock()
				seen = q.done
				q.mu.Unlock()
			}
		default:
		}
		return between()
	}
	release(2)
	value(t, last, nil)
	if seen < 0 || seen > 10 {
		t.Errorf("%d requests of the big client were done when the small one's was seen to be", seen)
	}
}

// Three samples of a tenant do not wait for another's thousand, in a thousand requests or in one, also with little
// memory.
func TestSamplingIsFair(t *testing.T) {
	for name, o := range map[string]Options{"room": {MaxSequences: 8},
		"little memory": {MaxSequences: 8, CacheBytes: 200 << 10}, "two at a time": {MaxSequences: 2}} {
		for _, requests := range []int{300, 1} {
			e := open(t, o)
			names, futures, order := []string(nil), map[string]<-chan struct{}{}, []string(nil)
			send := func(owner string, requests, n int) {
				s, err := e.SamplingClient(testContext(t),
					tinker.SamplingClientRequest{BaseModel: baseName, Owner: owner})
				if err != nil {
					t.Fatal(err)
				}
				for i := range requests {
					r := sampleRequest(n, 12, uint64(i), tokens(i, 40))
					f, err := s.Sample(testContext(t), r)
					if err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprintf("%s.%d", owner, i)
					names, futures[name] = append(names, name), f.Done()
				}
			}
			e.turn.take(forTraining)
			send("a", requests, 300/requests)
			send("b", 3, 1)
			e.scheduler.runner.Between = watch(names, futures, &order)
			e.turn.done(forTraining)
			for _, done := range futures {
				<-done
			}
			e.scheduler.runner.Between()
			for i := range 3 {
				// every sample of a has 12 steps: the first eight may end before, and those that began beside b's
				if at := slices.Index(order, fmt.Sprintf("b.%d", i)); at < 0 || at > 20 {
					t.Errorf("%s, %d requests: b's request %d was number %d to end: %v", name, requests, i, at,
						order[:min(len(order), 30)])
				}
			}
			if s := e.Stats(); s.Waiting[tinker.Sampling] != (tinker.Queue{}) {
				t.Errorf("%s: %+v still waits", name, s.Waiting)
			}
		}
	}
}

// Endless samples do not stop training, and endless training does not stop samples: both get the same time of one
// tenant.
func TestNeitherSideStarves(t *testing.T) {
	e := open(t, Options{Models: deep(t), MicroBatch: 4096}) // one pass
	c := create(t, e, 0, lora(2))
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	stop, ctx := make(chan struct{}), testContext(t)
	defer close(stop)
	go func() { // always three more
		for i := uint64(0); ; i++ {
			var f *tinker.Future[tinker.SampleResponse]
			for range 3 {
				var err error
				if f, err = s.Sample(ctx, sampleRequest(2, 30, i, mixed[0])); err != nil {
					return
				}
			}
			select {
			case <-f.Done():
			case <-stop:
				return
			}
		}
	}()
	until(func() bool { return e.figures.steps.Load() > 0 })
	layers, between, first := 0, e.training.runner.Between, e.figures.steps.Load()
	var begun, ended [2]time.Duration
	e.training.runner.Between = func() error {
		err := between()
		c := &e.turn.clock
		c.mu.Lock()
		if ended = c.owners[""].sides; layers == 0 {
			begun = ended
		}
		c.mu.Unlock()
		layers++
		return err
	}
	var data [][]int32
	for i := range 30 {
		data = append(data, tokens(i, 100))
	}
	f, err := c.ForwardBackward(testContext(t), batch(data...))
	value(t, f, err)
	steps, sampling, training := e.figures.steps.Load()-first, ended[forSamples]-begun[forSamples],
		ended[forTraining]-begun[forTraining]
	if layers < 10 || steps < 8 || sampling < training/4 || training < sampling/4 {
		t.Errorf("%d layers of training had %v, %d steps of sampling %v", layers, training, steps, sampling)
	}
}

// A model whose next request takes long to read does not delay the others.
func TestLongPauseHoldsNobodyUp(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(2))
	pause := func(n int) {
		e.training.mu.Lock()
		defer e.training.mu.Unlock()
		e.training.coming += n
		e.training.changed.Signal()
	}
	pause(1) // as if its next job were here in a moment
	defer pause(-1)
	f, err := c.ForwardBackward(testContext(t), batch(mixed...))
	value(t, f, err)
}

// A step has no more tokens of any other tenant than of its leader. So the steps of a small sample stay small beside
// another tenant's hundred samples, whose own steps still have all of them.
func TestStepsOfOneOwnerStaySmall(t *testing.T) {
	e := open(t, Options{})
	client := func(owner string) tinker.SamplingClient {
		c, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName, Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	many, few := client("many"), client("few")
	led, most, wrong := map[string]int{}, 0, ""
	both := false
	e.scheduler.runner.Between = func() error {
		rows := map[string]int{}
		for _, l := range e.scheduler.batch {
			rows[l.owner().name] += l.take
		}
		if most = max(most, rows["many"]); rows["few"] > 0 {
			both = true
		}
		led[e.scheduler.leader]++
		if n := rows[e.scheduler.leader]; n == 0 || rows["many"] > n || rows["few"] > n {
			wrong = fmt.Sprintf("%s leads %v", e.scheduler.leader, rows)
		}
		return nil
	}
	e.turn.take(forTraining)
	f, err := many.Sample(testContext(t), sampleRequest(100, 60, 1, mixed[0]))
	if err != nil {
		t.Fatal(err)
	}
	g, err := few.Sample(testContext(t), sampleRequest(1, 30, 2, mixed[1]))
	e.turn.done(forTraining)
	value(t, g, err)
	value(t, f, nil)
	if wrong != "" || led["few"] == 0 || led["many"] == 0 || most < 90 || !both {
		t.Errorf("steps led by %v, with at most %d tokens of the many; %s", led, most, wrong)
	}
	until(func() bool { // no tenant is active when nothing is in progress
		c := &e.turn.clock
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.owners) == 0
	})
}
