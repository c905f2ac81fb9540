package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func sameSamples(a, b tinker.SampleResponse) bool {
	return slices.EqualFunc(a.Sequences, b.Sequences, func(x, y tinker.SampledSequence) bool {
		return slices.Equal(x.Tokens, y.Tokens) && sameBits(x.Logprobs, y.Logprobs) && x.StopReason == y.StopReason
	}) && sameBits(a.PromptLogprobs, b.PromptLogprobs)
}

// Requests of several versions at once, with few pages or many, beside training, give the samples that each gives
// alone.
func TestSamplesDoNotDependOnCompany(t *testing.T) {
	samplesAreAlone(t, writeModel(t, true, true))
}

// So it is with a memory beside the pages, of which there is room for one sequence or for a few.
func TestSamplesWithMemoryDoNotDependOnCompany(t *testing.T) {
	samplesAreAlone(t, writeDelta(t, true, true))
}

// So it is with convolutions, whose state is in the pages.
func TestSamplesWithConvolutionsDoNotDependOnCompany(t *testing.T) {
	samplesAreAlone(t, writeConv(t, true, true))
}

// So it is with experts, which compute the rows of all sequences together.
func TestSamplesWithExpertsDoNotDependOnCompany(t *testing.T) {
	samplesAreAlone(t, writeExperts(t, true, true))
	samplesAreAlone(t, writeSinks(t, true, false))
}

func samplesAreAlone(t *testing.T, dir string) {
	type work struct {
		client int
		req    tinker.SampleRequest
	}
	var all []work
	for i := range 24 {
		r := sampleRequest(1+i%5, 5+7*(i%6), uint64(i%4), mixed[i%5][:1+i*2%len(mixed[i%5])])
		r.PromptLogprobs = i%3 == 0
		if r.Params.TopP = 1; i%4 == 1 {
			r.Params.TopP, r.Params.Temperature = 0.8, 1.3
		}
		all = append(all, work{i % 3, r})
	}
	var want []tinker.SampleResponse
	for _, o := range []Options{{}, {CacheBytes: 1}, {CacheBytes: 40 << 10}, {CacheBytes: 100 << 10, MaxSequences: 7},
		{MaxSequences: 2}} {
		o.Models = map[string]Model{baseName: {Dir: dir}}
		e := open(t, o)
		c := create(t, e, 0, lora(4))
		base, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
		if err != nil {
			t.Fatal(err)
		}
		clients := []tinker.SamplingClient{base}
		for i := range 2 {
			train(t, c, 1, mixed...)
			clients = append(clients, samplerOf(t, e, c, fmt.Sprint(i)))
		}
		if want == nil {
			for _, w := range all {
				want = append(want, draw(t, clients[w.client], w.req))
			}
			continue
		}
		var futures []*tinker.Future[tinker.SampleResponse]
		for _, w := range all {
			f, err := clients[w.client].Sample(testContext(t), w.req)
			if err != nil {
				t.Fatal(err)
			}
			futures = append(futures, f)
		}
		train(t, c, 2, mixed...)
		for i, f := range futures {
			if got := value(t, f, nil); !sameSamples(got, want[i]) {
				t.Errorf("cache %d bytes, %d sequences: request %d differs: %v, alone %v", o.CacheBytes, o.MaxSequences,
					i, got, want[i])
			}
		}
	}
}

// What a tenant's prompt costs does not tell what another tenant asked, nor what the same one asked with another salt;
// where the operator lets tenants share, only their own count. Answers are the same.
func TestPrefixesOfTenants(t *testing.T) {
	prompt := tokens(3, 70)
	for _, shares := range []bool{false, true} {
		e := open(t, Options{CacheBytes: 1 << 21, SharePrefixes: shares})
		var first tinker.SampleResponse
		for i, q := range []struct {
			tenant, salt string
			hits         int
		}{{"alice", "", 0}, {"bob", "", 0}, {"alice", "x", 0}, {"alice", "", 64}, {"bob", "", 64}, {"alice", "x", 64},
			{"ali", "ce", 0}} {
			s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName,
				Owner: q.tenant})
			if err != nil {
				t.Fatal(err)
			}
			req := sampleRequest(2, 8, 2, prompt)
			req.CacheSalt = q.salt
			got := draw(t, s, req)
			if i == 0 {
				first = got
			}
			if got.PromptCacheHitTokens != q.hits || !sameSamples(first, got) {
				t.Errorf("shares %v: request %d: %d hits, want %d; same samples %v", shares, i,
					got.PromptCacheHitTokens, q.hits, sameSamples(first, got))
			}
		}
	}
}

func TestPrefixesAreShared(t *testing.T) {
	for seed, dir := range map[uint64]string{2: writeModel(t, true, true), 3: writeConv(t, true, true)} {
		e := open(t, Options{CacheBytes: 1 << 21, Models: map[string]Model{baseName: {Dir: dir}}})
		prefixesAreShared(t, e, seed)
	}
}

// prefixesAreShared draws with a seed whose second answer is long.
func prefixesAreShared(t *testing.T, e *Engine, seed uint64) {
	t.Helper()
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	prompt := tokens(3, 70)
	first := draw(t, s, sampleRequest(2, 40, seed, prompt))
	again := draw(t, s, sampleRequest(2, 40, seed, prompt))
	if first.PromptCacheHitTokens != 0 || again.PromptCacheHitTokens != 64 || !sameSamples(first, again) {
		t.Errorf("hits %d then %d, want 0 then 64; same %v", first.PromptCacheHitTokens, again.PromptCacheHitTokens,
			sameSamples(first, again))
	}
	known := slices.Concat(prompt, first.Sequences[1].Tokens)
	want := (len(known) - 1) / cache.PageLen * cache.PageLen // the last token was drawn, not computed
	turn := slices.Concat(known, tokens(8, 10))              // the next turn of an episode
	if got := draw(t, s, sampleRequest(1, 4, 1, turn)).PromptCacheHitTokens; got != want || want <= 64 {
		t.Errorf("the next turn hits %d tokens, want %d of the sample's too", got, want)
	}
	if used, limit := cacheOf(e).InUse(), cacheOf(e).Limit(); used == 0 || cacheOf(e).Alloc(limit, false) == nil {
		t.Errorf("%d pages in use, and not all are free for others", used)
	}
}

// Of a model with memories, a long prompt is computed from the last kept memory on. The samples are those of an engine
// that keeps nothing, and of one that must forget some.
func TestPrefixesWithMemory(t *testing.T) {
	dir := writeLongDelta(t, true, true, 1024)
	prompt := tokens(3, 700)
	answer := tokens(8, 40)
	requests := []struct {
		name   string
		prompt []int32
		hits   int
	}{
		{"new", prompt, 0},
		{"the same", prompt, 672},
		{"the next turn", slices.Concat(prompt, answer), 672},
		{"the turn after it", slices.Concat(prompt, answer, answer), 736},
		{"another end", slices.Concat(prompt[:600], answer), 512},
		{"another beginning", slices.Concat(answer, prompt[:600]), 0},
		{"short", prompt[:200], 0},
		{"short, again", prompt[:200], 0},
	}
	var want []tinker.SampleResponse
	for _, bytes := range []int64{1, 100 << 10, 1 << 24} {
		e := open(t, Options{CacheBytes: bytes, Models: map[string]Model{baseName: {Dir: dir}}})
		s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range requests {
			got := draw(t, s, sampleRequest(3, 12, 5, q.prompt))
			if len(want) == i {
				want = append(want, got)
			}
			if hits := got.PromptCacheHitTokens; bytes == 1<<24 && hits != q.hits || !sameSamples(got, want[i]) {
				t.Errorf("%d bytes, %s: %d tokens hit, want %d; same samples %v", bytes, q.name, hits, q.hits,
					sameSamples(got, want[i]))
			}
		}
		if c := cacheOf(e); bytes == 1<<24 && c.Alloc(c.Limit(), false) == nil {
			t.Errorf("%d pages in use, and not all are free for others", c.InUse())
		}
	}
}

// Cached prefixes of unreachable weights are released.
func TestForgottenWeights(t *testing.T) {
	e := open(t, Options{})
	c, pages := create(t, e, 0, lora(2)), cacheOf(e)
	for i := range 3 {
		draw(t, samplerOf(t, e, c, fmt.Sprint(i)), sampleRequest(1, 2, 1, tokens(i, 100)))
		train(t, c, 1, mixed[0])
	}
	if pages.InUse() == 0 {
		t.Error("no prefix was kept")
	}
	eventually(t, "the pages of old weights are free", func() bool { runtime.GC(); return pages.InUse() == 0 })
}

func TestStops(t *testing.T) {
	e := open(t, Options{})
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	r := sampleRequest(1, 30, 4, mixed[0])
	free := draw(t, s, r).Sequences[0]
	if free.StopReason != tinker.StopLength || len(free.Tokens) != 30 {
		t.Fatalf("%d tokens, %s", len(free.Tokens), free.StopReason)
	}
	text := ""
	for _, id := range free.Tokens {
		text += string(letters{}.Bytes(id))
	}
	for _, stop := range []string{text[6:9], text[7:8] + text[8:10], text[11:20], text[9:10]} {
		r.Params.StopTokens, r.Params.StopStrings = []int32{138}, []string{"never", stop}
		end := strings.Index(text, stop) + len(stop) // the stop is complete here
		n := (end + 1) / 2
		got := draw(t, s, r).Sequences[0]
		if got.StopReason != tinker.StopStop || !slices.Equal(got.Tokens, free.Tokens[:n]) ||
			!sameBits(got.Logprobs, free.Logprobs[:n]) {
			t.Errorf("stop %q in %q: %d tokens (%s), want %d", stop, text, len(got.Tokens), got.StopReason, n)
		}
	}
	r.Params.StopTokens, r.Params.StopStrings = []int32{138, free.Tokens[12]}, nil
	if n := slices.Index(free.Tokens, free.Tokens[12]) + 1; len(draw(t, s, r).Sequences[0].Tokens) != n {
		t.Errorf("stop token %d: %v", free.Tokens[12], draw(t, s, r).Sequences[0])
	}
	// without stop tokens, the ends of config.json and generation_config.json and those of the options
	if got := e.memory.Find(baseName).Ends; !slices.Equal(got, []int32{0, 7}) {
		t.Errorf("end tokens %v, want [0 7]", got)
	}
	e.memory.Find(baseName).Ends = []int32{free.Tokens[20]}
	r.Params.StopTokens = nil
	for _, strs := range [][]string{nil, {"never"}} {
		r.Params.StopStrings = strs
		if n := slices.Index(free.Tokens, free.Tokens[20]) + 1; len(draw(t, s, r).Sequences[0].Tokens) != n {
			t.Errorf("an end token did not stop a sample with the stop strings %q", strs)
		}
	}
	r.Params.StopStrings = nil
	r.Params.MaxTokens, r.Params.StopTokens = 0, []int32{138}
	if got := draw(t, s, r).Sequences[0]; got.StopReason == tinker.StopLength &&
		len(got.Tokens) != context_-len(mixed[0]) {
		t.Errorf("without max_tokens: %d tokens", len(got.Tokens))
	}
}

func TestRefusedSamples(t *testing.T) {
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: writeModel(t, true, true)}}})
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*tinker.SampleRequest){
		"a prompt of 40 tokens and max_tokens 121 do not fit into the context of base model \"tiny\", 160 tokens": func(
			r *tinker.SampleRequest) {
			r.Params.MaxTokens = 121
		},
		"max_tokens is -1":             func(r *tinker.SampleRequest) { r.Params.MaxTokens = -1 },
		"num_samples is -2":            func(r *tinker.SampleRequest) { r.NumSamples = -2 },
		"temperature is -1":            func(r *tinker.SampleRequest) { r.Params.Temperature = -1 },
		"top_k is 0":                   func(r *tinker.SampleRequest) { r.Params.TopK = 0 },
		"top_p is 0":                   func(r *tinker.SampleRequest) { r.Params.TopP = 0 },
		"min_p is 1.5":                 func(r *tinker.SampleRequest) { r.Params.MinP = 1.5 },
		"stop token 139":               func(r *tinker.SampleRequest) { r.Params.StopTokens = []int32{139} },
		"a stop string is empty":       func(r *tinker.SampleRequest) { r.Params.StopStrings = []string{""} },
		"stop strings need the token":  func(r *tinker.SampleRequest) { r.Params.StopStrings = []string{"a"} },
		"topk_prompt_logprobs is 1000": func(r *tinker.SampleRequest) { r.TopKPromptLogprobs = 1000 },
		"the prompt is empty":          func(r *tinker.SampleRequest) { r.Prompt = tinker.ModelInput{} },
		"token 0 is 500":               func(r *tinker.SampleRequest) { r.Prompt = tinker.Text([]int32{500}) },
	} {
		r := sampleRequest(1, 4, 1, mixed[0])
		change(&r)
		f, err := s.Sample(testContext(t), r)
		if err := failure(t, f, err); !strings.Contains(err.Error(), want) || tinker.CategoryOf(err) != tinker.User {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestCancelledSampleFreesItsPages(t *testing.T) {
	e := open(t, Options{CacheBytes: 1 << 21})
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the client is gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	e.turn.Take(fair.ForTraining) // nothing is sampled until this turn ends
	f, err := s.Sample(ctx, sampleRequest(50, 100, 1, mixed[0]))
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Sample(testContext(t), sampleRequest(2, 20, 1, mixed[1]))
	cancel(gone)
	e.turn.Done(fair.ForTraining)
	if err := failure(t, f, nil); !errors.Is(err, gone) {
		t.Errorf("cancelled: %v", err)
	}
	value(t, other, err)
	if _, err := s.Sample(ctx, sampleRequest(1, 1, 1, mixed[0])); !errors.Is(err, gone) {
		t.Errorf("a request that is cancelled before: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if c := cacheOf(e); c.Alloc(c.Limit(), false) == nil {
		t.Errorf("%d pages are still held", c.InUse())
	}
}

func TestCloseEndsSamples(t *testing.T) {
	e := open(t, Options{MaxSequences: 2})
	s, err := e.SamplingClient(testContext(t), tinker.SamplingClientRequest{BaseModel: baseName})
	if err != nil {
		t.Fatal(err)
	}
	var futures []*tinker.Future[tinker.SampleResponse]
	for range 4 {
		f, err := s.Sample(testContext(t), sampleRequest(200, 100, 1, mixed[0]))
		if err != nil {
			t.Fatal(err)
		}
		futures = append(futures, f)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range futures {
		if err := failure(t, f, nil); !errors.Is(err, tinker.ErrClosed) {
			t.Error(err)
		}
	}
	f, err := s.Sample(testContext(t), sampleRequest(1, 1, 1, mixed[0]))
	if err := failure(t, f, err); !errors.Is(err, tinker.ErrClosed) {
		t.Error(err)
	}
}
