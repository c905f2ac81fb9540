package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// ofBase opens a base model's own weights.
func ofBase(t testing.TB, e *Engine, name string) tinker.SamplingClient {
	t.Helper()
	c, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: name})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closeSampler(c tinker.SamplingClient) { c.(io.Closer).Close() }

// leaves waits until a base model is out of memory.
func leaves(t testing.TB, e *Engine, name string) {
	t.Helper()
	eventually(t, "base model "+name+" leaves memory", func() bool { _, there := e.LoadedUntil(name); return !there })
}

func stays(t testing.TB, e *Engine, name, why string) {
	t.Helper()
	if e.UnloadBase(name, "") {
		t.Errorf("the base model left memory although %s uses it", why)
	}
}

func sameAnswers(a, b tinker.SampleResponse) bool {
	return slices.EqualFunc(a.Sequences, b.Sequences, func(x, y tinker.SampledSequence) bool {
		return slices.Equal(x.Tokens, y.Tokens) && sameBits(x.Logprobs, y.Logprobs)
	})
}

// A base model leaves memory after its idle time, and the next request has the same bits. It stays while a sampling
// client, a training run or a stream uses it.
func TestIdleBaseModelsLeaveMemory(t *testing.T) {
	kernels() // their self-test polls the clock, which does not pass in a bubble
	dir := writeModel(t, true, true)
	synctest.Test(t, func(t *testing.T) {
		e := open(t, Options{Threads: 1, IdleAfter: time.Minute,
			Models: map[string]Model{baseName: {Dir: dir, Tokens: letters{}}}})
		if e.BaseMemory() != 0 {
			t.Fatal("weights are in memory before anything needs them")
		}
		req := sampleRequest(2, 30, 4, mixed[0])
		c := ofBase(t, e, baseName)
		want := draw(t, c, req)
		if n, w := e.BaseMemory(), e.memory.Find(baseName).Config.WeightBytes(); n != w {
			t.Errorf("%d bytes are in memory, want %d", n, w)
		}
		time.Sleep(time.Hour)
		stays(t, e, baseName, "a sampling client")
		draw(t, c, req)
		pages := cacheOf(e)
		closeSampler(c)
		expires(t, e)
		if e.BaseMemory() != 0 || cacheOf(e) == pages {
			t.Errorf("%d bytes of weights are still there, or the KV cache", e.BaseMemory())
		}
		c = ofBase(t, e, baseName)
		if got := draw(t, c, req); !sameAnswers(got, want) {
			t.Errorf("after its return the model says %v, want %v", got, want)
		}
		closeSampler(c)
		expires(t, e)

		run := create(t, e, 0, lora(2))
		train(t, run, 1, mixed...)
		time.Sleep(time.Hour)
		stays(t, e, baseName, "a training run")
		before := logprobs(t, run, mixed...)
		var snapshot bytes.Buffer
		if _, err := e.Snapshot(testContext(t), "s:train:0", &snapshot); err != nil {
			t.Fatal(err)
		}
		if err := e.Evict(testContext(t), "s:train:0"); err != nil {
			t.Fatal(err)
		}
		expires(t, e)
		if _, _, err := e.Restore(testContext(t), &snapshot); err != nil {
			t.Fatal(err)
		}
		run, err := e.OpenModel(testContext(t), "s:train:0")
		if err != nil {
			t.Fatal(err)
		}
		if got := logprobs(t, run, mixed...); !allSame(got, before) {
			t.Error("a restored run on a base model that returned has other logprobs")
		}
	})
}

// expires checks that the base model is in memory until its idle time of a minute is over.
func expires(t *testing.T, e *Engine) {
	t.Helper()
	synctest.Wait()
	if at, there := e.LoadedUntil(baseName); !there || time.Until(at) != time.Minute {
		t.Errorf("unused from now on, the base model leaves memory in %v; in memory: %v", time.Until(at), there)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	if _, there := e.LoadedUntil(baseName); there {
		t.Error("the base model is still in memory")
	}
}

// A stream whose client is closed is complete although its model is unloaded, idle and short of memory meanwhile.
func TestStreamsKeepTheirBaseModel(t *testing.T) {
	e := open(t, Options{IdleAfter: time.Millisecond})
	req := sampleRequest(1, 110, 9, mixed[0])
	c := ofBase(t, e, baseName)
	want := draw(t, c, req)
	s, err := c.(tinker.Streamer).Stream(testContext(t), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(testContext(t)); err != nil {
		t.Fatal(err)
	}
	closeSampler(c)
	e.UnloadBase(baseName, "")
	out, err := s.Result().Wait(testContext(t))
	if err != nil || !sameAnswers(out, want) {
		t.Errorf("the stream says %v and %v, want %v", out, err, want)
	}
	leaves(t, e, baseName)
}

// named are base models of the same shape and different weights' folders.
func named(t *testing.T, names ...string) map[string]Model {
	models := map[string]Model{}
	for _, name := range names {
		models[name] = Model{Dir: writeModel(t, true, true), Tokens: letters{}}
	}
	return models
}

// Base models beyond the largest count towards the memory limit. The least recently used idle one leaves, one in use
// never does.
func TestBaseModelsShareTheMemory(t *testing.T) {
	e := open(t, Options{Models: named(t, "a", "b", "c")})
	one := e.memory.Find("a").Config.WeightBytes()
	e = open(t, Options{Models: named(t, "a", "b", "c"), Memory: one})
	there := func() (list []string) {
		for _, name := range []string{"a", "b", "c"} {
			if _, ok := e.LoadedUntil(name); ok {
				list = append(list, name)
			}
		}
		return list
	}
	check := func(want ...string) {
		t.Helper()
		if !slices.Equal(there(), want) {
			t.Errorf("in memory are %v, want %v", there(), want)
		}
	}
	a, b := ofBase(t, e, "a"), ofBase(t, e, "b")
	check("a", "b")
	_, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: "c"})
	if !errors.Is(err, tinker.ErrBusy) || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("a third model while two are in use: %v", err)
	}
	check("a", "b")
	closeSampler(b)
	closeSampler(a)
	draw(t, ofBase(t, e, "b"), sampleRequest(1, 4, 1, mixed[0]))
	c := ofBase(t, e, "c")
	check("b", "c")
	closeSampler(c)
	if err := e.RoomForModel(tinker.CreateModelRequest{BaseModel: "a", LoRA: lora(1)}); err == nil {
		t.Error("there is room for a run, and the limit is less than a run takes")
	}
}

// A training run takes memory from idle base models, and a promised one is never refused.
func TestRunsTakeTheMemoryOfIdleBaseModels(t *testing.T) {
	probe := open(t, Options{Models: named(t, "a")})
	one, run := probe.memory.Find("a").Config.WeightBytes(), probe.memory.Find("a").RunBytes(lora(8))
	e := open(t, Options{Models: named(t, "a", "b"), Memory: 2*run + one/2})
	closeSampler(ofBase(t, e, "b"))
	make := func(ctx context.Context, seq int64) error {
		_, err := e.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "s", ModelSeqID: seq, BaseModel: "a",
			LoRA: lora(8)})
		return err
	}
	if err := make(testContext(t), 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := e.LoadedUntil("b"); !ok {
		t.Error("b left although everything fits")
	}
	if err := make(tinker.Promised(testContext(t)), 1); err != nil {
		t.Fatal(err)
	}
	if _, ok := e.LoadedUntil("b"); ok {
		t.Error("b is in memory and idle while the runs need more than the limit")
	}
	if _, err := e.SamplingClient(testContext(t),
		tinker.SamplingClientRequest{BaseModel: "b"}); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("b beside two runs: %v", err)
	}
	if c, err := e.SamplingClient(tinker.Promised(testContext(t)),
		tinker.SamplingClientRequest{BaseModel: "b"}); err != nil {
		t.Errorf("b for a promised request: %v", err)
	} else {
		closeSampler(c)
	}
}

// A base model with an adapter of its own keeps the model below it in memory, and leaves with it.
func TestModelsWithAnAdapterShareWeights(t *testing.T) {
	dir := writeModel(t, true, true)
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: dir, Tokens: letters{}}}})
	run := create(t, e, 0, lora(2))
	train(t, run, 2, mixed...)
	f, err := run.SaveWeightsForSampler(testContext(t), tinker.SaveRequest{Name: "x"})
	adapter, err := e.Folder(value(t, f, err).Path)
	if err != nil {
		t.Fatal(err)
	}
	e = open(t, Options{IdleAfter: 20 * time.Millisecond, Models: map[string]Model{
		baseName: {Dir: dir, Tokens: letters{}}, "job": {Dir: dir, Adapter: adapter, Tokens: letters{}}}})
	req := sampleRequest(1, 20, 4, mixed[0])
	c := ofBase(t, e, "job")
	want := draw(t, c, req)
	stays(t, e, baseName, "a model with an adapter")
	closeSampler(c)
	leaves(t, e, "job")
	leaves(t, e, baseName)
	c = ofBase(t, e, "job")
	if got := draw(t, c, req); !sameAnswers(got, want) {
		t.Errorf("after its return the model with an adapter says %v, want %v", got, want)
	}
	closeSampler(c)
}

// Weights whose files have changed are not read again: results would change in the middle of a job.
func TestChangedWeightsAreRefused(t *testing.T) {
	dir := writeModel(t, true, true)
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: dir, Tokens: letters{}}}})
	closeSampler(ofBase(t, e, baseName))
	if !e.UnloadBase(baseName, "") {
		t.Fatal("an idle model stays")
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "model.safetensors"), later, later); err != nil {
		t.Fatal(err)
	}
	_, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err == nil || !strings.Contains(err.Error(), "changed") || tinker.CategoryOf(err) != tinker.Server {
		t.Errorf("changed weights: %v", err)
	}
	if e.BaseMemory() != 0 {
		t.Errorf("%d bytes are accounted for after a failure", e.BaseMemory())
	}
}

// Many clients of models that come and go, with room for two of three, get the answers of a model that stays.
func TestManyClientsOfModelsThatComeAndGo(t *testing.T) {
	names := []string{"a", "b", "c"}
	models := named(t, names...)
	still := open(t, Options{Models: models})
	want := map[string]tinker.SampleResponse{}
	for i, name := range names {
		want[name] = draw(t, ofBase(t, still, name), sampleRequest(1, 12, uint64(i), mixed[i]))
	}
	e := open(t, Options{Models: models, IdleAfter: time.Millisecond,
		Memory: still.memory.Find("a").Config.WeightBytes()})
	var work sync.WaitGroup
	answered := make([]int, 6)
	for g := range answered {
		work.Go(func() {
			for n := range 25 {
				i := (g + n) % len(names)
				c, err := e.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: names[i]})
				if errors.Is(err, tinker.ErrBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				f, err := c.Sample(t.Context(), sampleRequest(1, 12, uint64(i), mixed[i]))
				closeSampler(c)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := f.Wait(t.Context()); err != nil || !sameAnswers(got, want[names[i]]) {
					t.Errorf("%s says %v, %v", names[i], got, err)
				}
				answered[g]++
				if n%5 == 0 {
					e.UnloadBase(names[i], "")
				}
			}
		})
	}
	work.Wait()
	if slices.Max(answered) < 5 {
		t.Errorf("answers: %v", answered)
	}
	for _, name := range names {
		leaves(t, e, name)
	}
	if used, _ := e.Memory(); used != 0 {
		t.Errorf("%d bytes are accounted for in the end", used)
	}
}
