package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch"
	"github.com/seed-d9ad8ee0/trinity/engine/dispatch/dispatchtest"
	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/worker"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// partTokens are so few that the small requests of a test have several parts.
const partTokens = 100

// newWorkers makes workers on the kernel paths, one after the other.
func newWorkers(t *testing.T, n int, paths ...string) (list []dispatchtest.Worker) {
	for i := range n {
		w, err := worker.New(worker.Options{Cache: t.TempDir(), Threads: 1 + i%2, Kernel: paths[i%len(paths)]})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		list = append(list, w)
	}
	return list
}

// open opens an engine over workers, nil for one that is alone.
func open(t *testing.T, models map[string]engine.Model, carrier *dispatchtest.Carrier, only bool) *engine.Engine {
	return openAs(t, "", models, carrier, only)
}

// openAs is open with a base dtype.
func openAs(t *testing.T, base string, models map[string]engine.Model, carrier *dispatchtest.Carrier,
	only bool) *engine.Engine {
	o := engine.Options{Models: models, PoolOnly: only, Threads: 2, BaseDtype: base}
	if carrier != nil {
		o.Pool = dispatch.New(carrier, 1)
	}
	e := engine.OpenEngine(t, o)
	e.SetPart(partTokens)
	return e
}

// outcome is everything that a history leaves, as numbers that must not differ by a bit.
type outcome struct {
	names  []string
	values [][]float32
	tokens [][]int32
}

func (o *outcome) add(name string, v ...float32) {
	o.names, o.values = append(o.names, name), append(o.values, slices.Clone(v))
}

func (o *outcome) differs(other *outcome) string {
	if len(o.names) != len(other.names) {
		return fmt.Sprintf("%d results instead of %d", len(o.names), len(other.names))
	}
	for i, name := range o.names {
		if !engine.SameBits(o.values[i], other.values[i]) {
			return fmt.Sprintf("%s: %x instead of %x", name, other.values[i], o.values[i])
		}
	}
	for i := range o.tokens {
		if !slices.Equal(o.tokens[i], other.tokens[i]) {
			return fmt.Sprintf("sample %d: %v instead of %v", i, o.tokens[i], other.tokens[i])
		}
	}
	return ""
}

func wait[T any](t *testing.T, f *tinker.Future[T], err error) T {
	t.Helper()
	if err == nil {
		var v T
		if v, err = f.Wait(engine.LongContext(t)); err == nil {
			return v
		}
	}
	t.Fatal(err)
	panic("unreachable")
}

// policyDatum trains on a sample with an advantage.
func policyDatum(prompt []int32, q tinker.SampledSequence, advantage float32) tinker.Datum {
	all := slices.Concat(prompt, q.Tokens)
	n := len(all) - 1
	logp, adv, mask := make([]float32, n), make([]float32, n), make([]float32, n)
	copy(logp[len(prompt)-1:], q.Logprobs)
	for i := len(prompt) - 1; i < n; i++ {
		adv[i], mask[i] = advantage, 1
	}
	return tinker.Datum{ModelInput: tinker.Text(all[:n]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(all[1:]), tinker.Logprobs: tinker.Floats(logp),
		tinker.Advantages: tinker.Floats(adv), tinker.SequenceRatioMask: tinker.Floats(mask)}}
}

// reinforce is one step of policy gradients: groups of samples, rewards from their tokens, a loss, an optimizer step.
func reinforce(t *testing.T, e *engine.Engine, c tinker.TrainingClient, step int, loss string, out *outcome) {
	ctx := engine.LongContext(t)
	s := engine.Sampler(t, e, c, fmt.Sprint("step", step))
	var futures []*tinker.Future[tinker.SampleResponse]
	var prompts [][]int32
	for g := range 3 {
		prompts = append(prompts, engine.Tokens(g, 20+33*g)) // every step has the same ones
		r := engine.SampleRequest(3, 24, uint64(100*step+g), prompts[g])
		if g == 2 {
			r.Params.StopStrings, r.Params.TopK, r.Params.Temperature = []string{"3;4", ";7;"}, 20, 0.8
		}
		f, err := s.Sample(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		futures = append(futures, f)
	}
	req := tinker.ForwardRequest{LossFn: loss, LossFnConfig: map[string]float64{tinker.EntropyCoef: 0.01}}
	for g, f := range futures {
		for i, q := range wait(t, f, nil).Sequences {
			out.tokens = append(out.tokens, q.Tokens)
			out.add(fmt.Sprintf("step %d: logprobs of sample %d of group %d", step, i, g), q.Logprobs...)
			req.Data = append(req.Data, policyDatum(prompts[g], q, float32(q.Tokens[0]%5)-2))
		}
	}
	note(t, c, req, step, out)
}

// note does a forward, a backward and an optimizer step, and records all results.
func note(t *testing.T, c tinker.TrainingClient, req tinker.ForwardRequest, step int, out *outcome) {
	ctx := engine.LongContext(t)
	forward, ferr := c.Forward(ctx, req)
	first, berr := c.ForwardBackward(ctx, req)
	req.Data = req.Data[len(req.Data)/2:]
	second, serr := c.ForwardBackward(ctx, req) // adds to the gradient of the first
	for _, o := range []tinker.ForwardOutput{wait(t, forward, ferr), wait(t, first, berr), wait(t, second, serr)} {
		for i, rec := range o.LossFnOutputs {
			for _, key := range []string{tinker.Logprobs, tinker.Entropy, tinker.EntropyCentre} {
				out.add(fmt.Sprintf("step %d: %s of datum %d", step, key, i), rec[key].Float...)
			}
		}
		sum := math.Float64bits(o.Metrics["loss:sum"])
		out.add(fmt.Sprintf("step %d: loss", step), math.Float32frombits(uint32(sum)), math.Float32frombits(uint32(
			sum>>32)))
	}
	for i, a := range engine.Accumulators(c) {
		out.add(fmt.Sprintf("step %d: gradient %d", step, i), a...)
	}
	o, err := c.OptimStep(ctx, engine.Adam(1e-2))
	norm := math.Float64bits(wait(t, o, err).Metrics["grad_norm"])
	out.add(fmt.Sprintf("step %d: grad_norm", step), math.Float32frombits(uint32(norm)), math.Float32frombits(uint32(
		norm>>32)))
}

// losses are those of policies.
var losses = []string{tinker.ImportanceSampling, tinker.PPO, tinker.GSPO}

// history trains a model with losses, then on sequences.
func history(t *testing.T, e *engine.Engine, rank int, losses ...string) *outcome {
	out := &outcome{}
	c := engine.Create(t, e, 0, engine.LoRAOf(rank))
	for step, loss := range losses {
		reinforce(t, e, c, step, loss, out)
	}
	var seqs [][]int32
	for i := range 5 {
		seqs = append(seqs, engine.Tokens(i, 30+i*13))
	}
	note(t, c, engine.Batch(seqs...), 3, out)
	for i, v := range engine.Logprobs(t, c, seqs...) {
		out.add(fmt.Sprintf("final logprobs %d", i), v...)
	}
	return out
}

// crew is the workers of a test.
type crew struct {
	workers int
	only    bool    // all work is left to them
	lose    float64 // share of answers that are lost
	path    string  // kernels of every second worker
}

// Workers, in any number, on any kernel path, that answer in any order, lose answers, join and leave, change no bit of
// a run; nor does leaving all the work to them.
func TestSpreadChangesNoBit(t *testing.T) {
	for i, k := range []struct {
		name       string
		bf16, tied bool
		rank       int
		base       string
		crews      []crew
	}{{"bf16 LoRA", true, true, 8, "", []crew{{}, {workers: 1}, {3, true, 0.2, "portable"}}},
		{"f32 LoRA", false, false, 3, "", []crew{{workers: 2, lose: 0.2}}},
		{"int8 LoRA", true, true, 8, engine.BaseInt8, []crew{{workers: 2, only: true}}},
		{"bf16 full", true, true, 0, "", []crew{{workers: 2}}},
		{"f32 full", false, false, 0, "", []crew{{workers: 1, only: true}}}} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			models := map[string]engine.Model{engine.BaseName: {Dir: engine.WriteModel(t, k.bf16, k.tied),
				Tokens: engine.Letters{}}}
			some := losses // all for the first kind, one for the others
			if i > 0 {
				some = losses[i%len(losses):][:1]
			}
			want := history(t, openAs(t, k.base, models, nil, false), k.rank, some...)
			for _, w := range k.crews {
				carrier := dispatchtest.New(t, newWorkers(t, w.workers, "", w.path)...)
				carrier.Lose = w.lose
				got := history(t, openAs(t, k.base, models, carrier, w.only), k.rank, some...)
				if d := want.differs(got); d != "" {
					t.Fatalf("%d workers: other bits: %s", w.workers, d)
				}
				for _, kind := range []executor.Kind{executor.KindSample, executor.KindForward, executor.KindGradient} {
					if n := carrier.Done(kind); (n > 0) != (w.workers > 0) {
						t.Errorf("%d workers: they computed %d tasks %s", w.workers, n, kind)
					}
				}
			}
		})
	}
}

// A run goes on when its workers leave in mid-request, and uses those that join.
func TestWorkersJoinAndLeave(t *testing.T) {
	models := map[string]engine.Model{engine.BaseName: {Dir: engine.WriteModel(t, true, true),
		Tokens: engine.Letters{}}}
	want := history(t, open(t, models, nil, false), 8, losses...)
	workers := newWorkers(t, 3, "")
	carrier := dispatchtest.New(t, workers[0])
	called := make(chan struct{}, 1)
	carrier.Hear = func(context.Context) {
		select {
		case called <- struct{}{}:
		default:
		}
	}
	e := open(t, models, carrier, false)
	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			case <-called:
			}
			carrier.SetWorkers() // the engine goes on alone until some join
			for range 100 {
				runtime.Gosched()
			}
			carrier.SetWorkers(workers[:1+i%3]...)
		}
	})
	got := history(t, e, 8, losses...)
	close(stop)
	changes.Wait()
	if d := want.differs(got); d != "" {
		t.Errorf("other bits: %s", d)
	}
}

// What fails elsewhere is computed here, and a request's error is that of one process.
func TestSpreadErrors(t *testing.T) {
	models := map[string]engine.Model{engine.BaseName: {Dir: engine.WriteModel(t, true, true),
		Tokens: engine.Letters{}}}
	want := history(t, open(t, models, nil, false), 8, losses...)
	carrier := dispatchtest.New(t, newWorkers(t, 2, "")...)
	carrier.Fail = func(task dispatch.Task) error {
		if task.Cost > 300 {
			return errors.New("out of memory")
		}
		return nil
	}
	e := open(t, models, carrier, false)
	if d := want.differs(history(t, e, 8, losses...)); d != "" {
		t.Errorf("with failures: other bits: %s", d)
	}

	alone, spread := open(t, models, nil, false), e
	var texts []string
	for _, e := range []*engine.Engine{alone, spread} {
		c := engine.Create(t, e, 5, engine.LoRAOf(4))
		var seqs [][]int32
		for i := range 8 {
			seqs = append(seqs, engine.Tokens(i, 60))
		}
		f, err := c.ForwardBackward(engine.LongContext(t), engine.Batch(seqs...))
		wait(t, f, err)
		before := clone(engine.Accumulators(c))
		bad := engine.Batch(seqs...)
		bad.LossFn = tinker.ImportanceSampling
		for i := range bad.Data {
			d := policyDatum(seqs[i][:10], tinker.SampledSequence{Tokens: seqs[i][10:], Logprobs: make([]float32, 50)},
				1)
			if i >= 5 {
				d.LossFnInputs[tinker.Logprobs].Float[20] = -1e30 // the ratio overflows
			}
			bad.Data[i] = d
		}
		f, err = c.ForwardBackward(engine.LongContext(t), bad)
		if err == nil {
			_, err = f.Wait(engine.LongContext(t))
		}
		if err == nil || tinker.CategoryOf(err) != tinker.User {
			t.Fatalf("an overflow: %v", err)
		}
		texts = append(texts, err.Error())
		if !slices.EqualFunc(before, engine.Accumulators(c), engine.SameBits) {
			t.Error("a failed request changed the gradient")
		}
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "datum 5") {
		t.Errorf("errors differ: %q, %q", texts[0], texts[1])
	}
}

// Wrong answers of a machine that is found to be wrong before the request ends change no bit.
func TestDoubtedAnswers(t *testing.T) {
	models := map[string]engine.Model{engine.BaseName: {Dir: engine.WriteModel(t, true, true),
		Tokens: engine.Letters{}}}
	want := history(t, open(t, models, nil, false), 8, losses...)
	carrier := dispatchtest.New(t, newWorkers(t, 1, "")...)
	var lies atomic.Int64
	carrier.Lie = func(kind string, answer []byte) {
		at := map[string]int{"sample": 1, "forward": 8, "gradient": 4}[kind] // a stop, a loss, a gradient
		answer[len(answer)-at] ^= 1
		lies.Add(1)
	}
	if d := want.differs(history(t, open(t, models, carrier, true), 8, losses...)); d != "" || lies.Load() == 0 {
		t.Errorf("after %d lies: other bits: %s", lies.Load(), d)
	}
}

func clone(list [][]float32) [][]float32 {
	var out [][]float32
	for _, v := range list {
		out = append(out, slices.Clone(v))
	}
	return out
}
