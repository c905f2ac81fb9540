package engine

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
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
		between := e.loop.Runner.Between
		pauses, late := 0, 0
		arrived, steps := false, int64(0)
		var futures []*tinker.Future[tinker.SampleResponse]
		e.loop.Runner.Between = func() error { // a sample arrives in every layer
			err := between()
			if arrived && e.Stats().Steps <= steps {
				late++
			}
			pauses++
			f, serr := base.Sample(testContext(t), r)
			if serr != nil {
				t.Error(serr)
			}
			futures, arrived, steps = append(futures, f), true, e.Stats().Steps
			until(func() bool { return e.turn.Waits(fair.ForSamples) })
			return err
		}
		train(t, c, 2, mixed...)
		train(t, twin, 2, mixed...)
		e.loop.Runner.Between = between
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
		if !bytes.Equal(snapshotOf(t, e), snapshotOf(t, alone)) {
			t.Error("training with samples between its layers has other bits")
		}
	}
}

// snapshotOf is the state of the first model.
func snapshotOf(t testing.TB, e *Engine) []byte {
	t.Helper()
	var w bytes.Buffer
	if _, err := e.Snapshot(testContext(t), "s:train:0", &w); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

// repack makes a run compute with parameters that were changed.
func repack(t testing.TB, e *Engine, r *training.Run) {
	t.Helper()
	v, err := e.memory.Pack(r.Shape, r.Params, r.Version)
	if err != nil {
		t.Fatal(err)
	}
	r.Version = v
}

// hold keeps the compute loop from beginning until release, which waits for that many jobs.
func hold(e *Engine) (release func(jobs int)) {
	e.turn.Take(fair.ForSamples)
	return func(jobs int) {
		until(func() bool { return e.turn.Clock.Waiting(fair.ForTraining) == jobs })
		e.turn.Done(fair.ForSamples)
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
func (w work) prepare(t testing.TB, e *Engine, seq int64) *training.Run {
	r := create(t, e, seq, lora(w.rank)).(*training.Run)
	for _, p := range r.Params {
		for i := range p.Data {
			p.Data[i] += 0.02 * float32(i%7-3)
			if w.wrong == 1 && strings.Contains(p.Name, "layers.1.mlp.down_proj") {
				p.Data[i] = 3e38
			}
		}
	}
	repack(t, e, r)
	return r
}

// outcome is what a client sees of w's requests.
func outcome(t testing.TB, futures []*tinker.Future[tinker.ForwardOutput]) (all [][]float32, errs string) {
	for _, f := range futures {
		o, err := f.Wait(testContext(t))
		if err != nil {
			errs += err.Error() + "\n"
		}
		all = append(append(all, logprobsOf(o)...), []float32{float32(o.Metrics["loss:sum"])})
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
		var runs, twins []*training.Run
		for i := range rapid.IntRange(2, 5).Draw(rt, "models") {
			w := draft(rt, i)
			all = append(all, w)
			runs, twins = append(runs, w.prepare(t, e, int64(i))), append(twins, w.prepare(t, alone, int64(i)))
		}
		e.loop.Wait = time.Hour
		release := hold(e)
		send := func(r *training.Run, w work) (futures []*tinker.Future[tinker.ForwardOutput]) {
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
			if !allSame(runs[i].Grads.Accumulators(), twins[i].Grads.Accumulators()) {
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
	e.loop.Wait = time.Hour // no pass begins without a model that is only late
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
