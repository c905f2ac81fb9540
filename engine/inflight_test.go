package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// published are the paths of n checkpoints of a run, with a training step between two.
func published(t testing.TB, e *Engine, l tinker.LoRA, n int) (paths []string) {
	t.Helper()
	m := create(t, e, 0, l)
	for i := range n {
		train(t, m, 2, mixed...)
		f, err := m.SaveWeightsForSampler(testContext(t), tinker.SaveRequest{Name: fmt.Sprint("v", i+1)})
		paths = append(paths, value(t, f, err).Path)
	}
	return paths
}

func inflight(t testing.TB, e *Engine, path string) tinker.Mover {
	t.Helper()
	c, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{ModelPath: path, Inflight: true})
	if err != nil {
		t.Fatal(err)
	}
	return c.(tinker.Mover)
}

// moving samples a request and moves the client to the next path when every sample has drawn so many more tokens.
func moving(t testing.TB, c tinker.Mover, r tinker.SampleRequest, every int, paths ...string) tinker.SampleResponse {
	t.Helper()
	s, err := tinker.OpenStream(testContext(t), c, r)
	if err != nil {
		t.Fatal(err)
	}
	drawn, next := 0, every*r.NumSamples
	s.Follow(func(tinker.Drawn) {
		if drawn++; drawn < next || len(paths) == 0 {
			return
		}
		if err := c.Move(context.Background(), paths[0]); err != nil {
			t.Error(err)
		}
		next, paths = next+every*r.NumSamples, paths[1:]
	})
	return value(t, s.Result(), nil)
}

// byHand computes the logprobs of a sample with what its answer says of its weights, one pass for each version.
func byHand(t testing.TB, e *Engine, prompt []int32, q tinker.SampledSequence) (out []float32) {
	t.Helper()
	run := model.NewRunner(nn.Compute{K: e.compute.K, P: kernel.NewPool(1)})
	defer run.P.Close()
	all := slices.Concat(prompt, q.Tokens)
	var pages []*nn.Page
	for i, v := range q.Versions {
		w, held, err := e.trainer.Open(v.Path, true)
		if err != nil {
			t.Fatal(err)
		}
		defer held.End()
		if pages == nil {
			for _, p := range w.Cache.Alloc(cache.PagesFor(len(all)), true) {
				pages = append(pages, &p.Page)
			}
		}
		from, to := len(prompt)+v.From-1, len(all)-1
		if i == 0 {
			from = 0
		}
		if i+1 < len(q.Versions) {
			to = len(prompt) + q.Versions[i+1].From - 1
		}
		seqs := []model.Seq{{Tokens: all[from:to], Pos: from, Pages: pages, Adapter: w.Adapter}}
		hidden := run.Forward(w.W, seqs, nil)
		row := make([]float32, w.W.Config.Vocab)
		for pos := max(from, len(prompt)-1); pos < to; pos++ {
			run.Logits(w.W, seqs, hidden, []int{pos - from}, row)
			out = append(out, row[all[pos+1]]-e.compute.K.LogSumExp(row))
		}
	}
	return out
}

func long(n, most int, seed uint64, prompt []int32) tinker.SampleRequest {
	r := sampleRequest(n, most, seed, prompt)
	r.Params.StopTokens, r.Params.NoStop = nil, true
	return r
}

// Answers under way move to new weights, several times, and their logprobs are those of the weights that drew them over
// the keys and values of the weights before: alone, in groups, and when pages are lost and computed again. The record
// repeats an answer to the last bit.
func TestInflight(t *testing.T) {
	for name, o := range map[string]Options{"room": {}, "few pages": {CacheBytes: 100 << 10, MaxSequences: 7}} {
		for _, l := range []tinker.LoRA{lora(4), {}} {
			t.Run(fmt.Sprint(name, " rank ", l.Rank), func(t *testing.T) {
				e := open(t, o)
				paths := published(t, e, l, 4)
				c, still := inflight(t, e, paths[0]), open1(t, e, paths[0])
				var wg sync.WaitGroup
				var changes atomic.Int64
				for i := range 5 {
					prompt := mixed[i]
					wg.Go(func() {
						r := long(1+i, 40, uint64(i), prompt)
						got := moving(t, c, r, 8, paths[1:]...)
						changes.Add(checkMoved(t, e, c, r, got))
					})
					wg.Go(func() { // a snapshot beside it is not disturbed
						r := sampleRequest(2, 30, uint64(i), prompt)
						if a, b := draw(t, still, r), draw(t, open1(t, e, paths[0]), r); !sameSamples(a, b) {
							t.Errorf("a snapshot's samples are %v and %v", a, b)
						}
					})
				}
				wg.Wait()
				if changes.Load() < 10 {
					t.Errorf("the weights changed %d times within an answer", changes.Load())
				}
			})
		}
	}
}

func open1(t testing.TB, e *Engine, path string) tinker.SamplingClient {
	t.Helper()
	c, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{ModelPath: path})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkMoved checks an answer against the computation by hand, and repeats it. It returns the changes of the weights.
func checkMoved(t *testing.T, e *Engine, c tinker.SamplingClient, r tinker.SampleRequest,
	got tinker.SampleResponse) (changes int64) {
	prompt, _ := r.Prompt.Tokens()
	again := r
	for i, q := range got.Sequences {
		if want := byHand(t, e, prompt, q); !sameBits(q.Logprobs, want) {
			t.Errorf("sample %d of %v: logprobs %v, by hand %v", i, q.Versions, q.Logprobs, want)
		}
		changes += int64(len(q.Versions) - 1)
		again.Versions = append(again.Versions, q.Versions)
	}
	if b := draw(t, c, again); !sameSamples(b, got) || !sameVersions(b, got) {
		t.Errorf("repeated: %+v, was %+v", b, got)
	}
	return changes
}

func sameVersions(a, b tinker.SampleResponse) bool {
	return slices.EqualFunc(a.Sequences, b.Sequences, func(x, y tinker.SampledSequence) bool {
		return slices.Equal(x.Versions, y.Versions)
	})
}

// A request that begins on new weights uses no page of old ones, nor the other way round; and before its first change
// an answer is that of a snapshot.
func TestInflightPrefixes(t *testing.T) {
	e := open(t, Options{})
	paths := published(t, e, lora(4), 2)
	c, r := inflight(t, e, paths[0]), long(2, 40, 9, tokens(3, 97))
	first := moving(t, c, r, 15, paths[1])
	old, fresh := draw(t, open1(t, e, paths[0]), r), draw(t, open1(t, e, paths[1]), r)
	for i, q := range first.Sequences {
		if len(q.Versions) != 2 || q.Versions[1].From < 15 {
			t.Fatalf("sample %d has %v", i, q.Versions)
		}
		at := q.Versions[1].From
		if !slices.Equal(q.Tokens[:at], old.Sequences[i].Tokens[:at]) ||
			!sameBits(q.Logprobs[:at], old.Sequences[i].Logprobs[:at]) {
			t.Errorf("sample %d differs from the old weights' before token %d", i, at)
		}
	}
	if got := draw(t, c, r); !sameSamples(got, fresh) || len(got.Sequences[0].Versions) != 1 {
		t.Errorf("a request on new weights got %+v, a snapshot %+v", got, fresh)
	}
	turn := func(q tinker.SampledSequence) tinker.SampleRequest { // the next turn of a conversation
		return long(1, 10, 4, slices.Concat(tokens(3, 97), q.Tokens, []int32{7}))
	}
	o := e.opts
	o.Beside = true
	again := open(t, o) // on the same folders
	for _, q := range first.Sequences {
		for i, p := range paths {
			if a, b := draw(t, inflight(t, e, p), turn(q)), draw(t, open1(t, again, p),
				turn(q)); !sameSamples(a, b) {
				t.Errorf("after a mixed answer, version %d gives %+v, an empty cache %+v", i, a, b)
			}
		}
	}
}

// What cannot be is refused, and the sampler stays as it was. Memory is accounted for until the last user has gone.
func TestInflightRefusals(t *testing.T) {
	e := open(t, Options{Memory: 1 << 30})
	paths := published(t, e, lora(4), 2)
	other := samplerPath(t, create(t, e, 1, lora(4)))
	before, _ := e.memory.Now("")
	c := inflight(t, e, paths[0])
	r := long(1, 8, 1, mixed[0])
	still := open1(t, e, paths[0])
	want := draw(t, still, r)
	for _, path := range []string{other, "no path", paths[0] + "x"} {
		if err := c.Move(testContext(t), path); tinker.CategoryOf(err) != tinker.User {
			t.Errorf("Move to %s: %v", path, err)
		}
	}
	for name, list := range map[string][][]tinker.Version{
		"too many": {{{Path: paths[0]}}, nil}, "late": {{{From: 1, Path: paths[0]}}},
		"twice": {{{Path: paths[0]}, {Path: paths[1]}}}, "another run's": {{{Path: other}}},
	} {
		r := r
		r.Versions = list
		if f, err := c.Sample(testContext(t), r); tinker.CategoryOf(failure(t, f, err)) != tinker.User {
			t.Errorf("versions, %s: %v", name, err)
		}
	}
	r.Versions = [][]tinker.Version{{{Path: paths[0]}}}
	if _, err := still.Sample(testContext(t), r); tinker.CategoryOf(err) != tinker.User {
		t.Errorf("versions for a snapshot: %v", err)
	}
	r.Versions = nil
	if got := draw(t, c, r); !sameSamples(got, want) {
		t.Errorf("after refusals %+v, want %+v", got, want)
	}
	if _, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName,
		Inflight: true}); tinker.CategoryOf(err) != tinker.User {
		t.Errorf("an in-flight sampler of a base model: %v", err)
	}
	moving(t, c, long(3, 20, 2, mixed[0]), 5, paths[1])
	if err := errors.Join(c.Move(testContext(t), paths[0]), c.Move(testContext(t), paths[1]),
		c.(io.Closer).Close(), still.(io.Closer).Close()); err != nil {
		t.Error(err)
	}
	eventually(t, "the memory is free", func() bool { now, _ := e.memory.Now(""); return now <= before })
}

func samplerPath(t testing.TB, m tinker.TrainingClient) string {
	t.Helper()
	f, err := m.SaveWeightsForSampler(testContext(t), tinker.SaveRequest{Name: "x"})
	return value(t, f, err).Path
}
