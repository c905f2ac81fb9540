package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// recording returns a queue whose requests record that they ran.
func recording(t *testing.T, keep int, keepBytes int64) (q *queue,
	send func(seq int64, what byte) (*tinker.Future[string], error), ran func() string) {
	var mu sync.Mutex
	var log []byte
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	q = newQueue(queueOptions{id: "m", start: func(f func()) bool { wg.Go(f); return true }, idle: func() {},
		backlog: newBacklog(tinker.Queue{Requests: 100, Tokens: 1}), keep: keep, keepBytes: keepBytes}, 0)
	send = func(seq int64, what byte) (*tinker.Future[string], error) {
		return submit(context.Background(), q, seq, digest{what}, 0, func() (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if log = append(log, what); what == 'x' {
				return "", errors.New("failed")
			}
			return "result " + string(what), nil
		}, func(s string) int64 { return int64(len(s)) })
	}
	return q, send, func() string { mu.Lock(); defer mu.Unlock(); return string(log) }
}

func TestQueueRunsInOrder(t *testing.T) {
	_, send, ran := recording(t, 100, 1<<20)
	var futures []*tinker.Future[string]
	for _, r := range []struct {
		seq  int64
		what byte
	}{{3, 'c'}, {2, 'b'}, {5, 'x'}, {0, 'f'}, {4, 'd'}} { // 0 takes 6
		f, err := send(r.seq, r.what)
		if err != nil {
			t.Fatal(err)
		}
		futures = append(futures, f)
	}
	if got := ran(); got != "" {
		t.Fatalf("%q ran before request 1 came", got)
	}
	f, err := send(1, 'a')
	value(t, f, err)
	for i, f := range futures {
		if _, err := f.Wait(testContext(t)); (err != nil) != (i == 2) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if got := ran(); got != "abcdxf" {
		t.Errorf("ran in the order %q, want abcdxf", got)
	}
}

func TestQueueAnswersRepeats(t *testing.T) {
	_, send, ran := recording(t, 3, 1<<20)
	for i := range 5 {
		f, err := send(int64(i+1), byte('a'+i))
		value(t, f, err)
	}
	f, err := send(5, 'e')
	if got := value(t, f, err); got != "result e" || ran() != "abcde" {
		t.Errorf("repeated: %q, ran %q", got, ran())
	}
	for _, c := range []struct {
		seq  int64
		what byte
		want string
	}{
		{5, 'z', "used for another request"}, {1, 'a', "no longer kept; the next free seq_id is 6"},
		{-1, 'a', "out of range"}, {1 << 40, 'a', "out of range"},
	} {
		if _, err := send(c.seq, c.what); err == nil || !strings.Contains(err.Error(), c.want) ||
			tinker.CategoryOf(err) != tinker.User {
			t.Errorf("request %d: %v, want %q", c.seq, err, c.want)
		}
	}
	_, send, _ = recording(t, 100, 20) // two results of 8 bytes fit
	for i := range 5 {
		f, err := send(int64(i+1), byte('a'+i))
		value(t, f, err)
	}
	if _, err := send(3, 'c'); err == nil {
		t.Error("results were kept beyond their bytes")
	}
	f, err = send(4, 'd')
	value(t, f, err)
}

func TestQueueCloses(t *testing.T) {
	q, send, ran := recording(t, 10, 1<<20)
	waiting, err := send(2, 'b')
	if err != nil {
		t.Fatal(err)
	}
	q.close()
	if _, err := waiting.Wait(testContext(t)); !errors.Is(err, tinker.ErrClosed) {
		t.Errorf("waiting request: %v", err)
	}
	if _, err := send(1, 'a'); !errors.Is(err, tinker.ErrClosed) || ran() != "" {
		t.Errorf("after close: %v, ran %q", err, ran())
	}
	q.between(func(err error) {
		if !errors.Is(err, tinker.ErrClosed) {
			t.Errorf("control after close: %v", err)
		}
	})
}

func TestRequestsDiffer(t *testing.T) {
	base := func() tinker.ForwardRequest { return batch(mixed[1], mixed[0]) }
	seen := map[digest]string{newHasher("forward").forward(base()): "base"}
	if again := newHasher("forward").forward(base()); seen[again] == "" {
		t.Error("equal requests have different digests")
	}
	for name, change := range map[string]func(*tinker.ForwardRequest){
		"loss":      func(r *tinker.ForwardRequest) { r.LossFn = "ppo" },
		"config":    func(r *tinker.ForwardRequest) { r.LossFnConfig = map[string]float64{"beta": 1} },
		"config 2":  func(r *tinker.ForwardRequest) { r.LossFnConfig = map[string]float64{"beta": 2} },
		"order":     func(r *tinker.ForwardRequest) { slices.Reverse(r.Data) },
		"fewer":     func(r *tinker.ForwardRequest) { r.Data = r.Data[:1] },
		"token":     func(r *tinker.ForwardRequest) { r.Data[0] = datum(tokens(9, 3)) },
		"weight":    func(r *tinker.ForwardRequest) { r.Data[0].LossFnInputs["weights"].Float[0] = 7 },
		"no weight": func(r *tinker.ForwardRequest) { delete(r.Data[0].LossFnInputs, "weights") },
		"image":     func(r *tinker.ForwardRequest) { r.Data[0].ModelInput.Chunks[0].Image = &tinker.Image{} },
	} {
		r := base()
		change(&r)
		d := newHasher("forward").forward(r)
		if other, dup := seen[d]; dup {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
	if newHasher("forward").forward(base()) == newHasher("forward_backward").forward(base()) {
		t.Error("the method is not in the digest")
	}
}

// A failed request uses its number and changes neither weights nor optimizer nor gradient, whatever its error.
func TestFailedRequestsChangeNothing(t *testing.T) {
	e := open(t, Options{MicroBatch: 32})
	c, twin := create(t, e, 0, lora(4)), create(t, e, 1, lora(4))
	huge := func(at int) tinker.ForwardRequest { // overflows in the last micro-batch
		r := batch(mixed...)
		r.LossFn = tinker.ImportanceSampling
		for i := range r.Data {
			n := r.Data[i].ModelInput.Len()
			q, a := make([]float32, n), make([]float32, n)
			if i == at {
				q[n-1], a[n-1] = -3e38, 1
			}
			r.Data[i].LossFnInputs["logprobs"], r.Data[i].LossFnInputs["advantages"] = tinker.Floats(q),
				tinker.Floats(a)
		}
		return r
	}
	bad := func(gathered bool) {
		f, err := c.ForwardBackward(testContext(t), huge(4))
		if err := failure(t, f, err); !strings.Contains(err.Error(),
			"importance_sampling of datum 4 overflows at position 63") {
			t.Errorf("overflow: %v", err)
		}
		r := batch(mixed...)
		for i := range r.Data[4].LossFnInputs["weights"].Float {
			r.Data[4].LossFnInputs["weights"].Float[i] = 3.3e38
		}
		f, err = c.ForwardBackward(testContext(t), r)
		if err := failure(t, f, err); !strings.Contains(err.Error(), "not finite") {
			t.Errorf("overflow of the gradient: %v", err)
		}
		rates := []float64{-1}
		if gathered {
			rates = append(rates, 3e38)
		}
		for _, lr := range rates {
			o, err := c.OptimStep(testContext(t), adam(lr))
			if err := failure(t, o, err); tinker.CategoryOf(err) != tinker.User {
				t.Errorf("learning rate %v: %v", lr, err)
			}
		}
	}
	for range 2 { // with an empty gradient, and on top of one
		for i, seqs := range [][][]int32{mixed[:2], mixed[2:]} {
			bad(i > 0)
			for _, c := range []tinker.TrainingClient{c, twin} {
				f, err := c.ForwardBackward(testContext(t), batch(seqs...))
				value(t, f, err)
			}
		}
		bad(true)
		for _, c := range []tinker.TrainingClient{c, twin} {
			o, err := c.OptimStep(testContext(t), adam(1e-2))
			value(t, o, err)
		}
	}
	if !allSame(logprobs(t, c, mixed...), logprobs(t, twin, mixed...)) {
		t.Error("failed requests left traces")
	}
	if info, err := c.Info(testContext(t)); err != nil || info.NextSeqID != 30 {
		t.Errorf("next seq_id %d, %v; want 30: failed requests use their numbers", info.NextSeqID, err)
	}
}

// Weights that overflow give an error that names the layer and the request, in training and in sampling.
func TestOverflowNamesTheLayer(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(2))
	r := c.(*trainingRun)
	for _, p := range r.params {
		if strings.Contains(p.Name, "layers.1.mlp.down_proj") {
			for i := range p.Data {
				p.Data[i] = 3e38
			}
		}
	}
	if err := r.repack(); err != nil {
		t.Fatal(err)
	}
	f, err := c.ForwardBackward(testContext(t), batch(mixed...))
	if err := failure(t, f, err); !strings.Contains(err.Error(),
		"model s:train:0, datum 0: model: not finite after layer 1") {
		t.Error(err)
	}
	if r.gathered {
		t.Error("it left a gradient")
	}
	s, err := sampler(t, e, c, "w").Sample(testContext(t), sampleRequest(2, 5, 1, mixed[0]))
	if err := failure(t, s, err); !strings.Contains(err.Error(), "not finite after layer 1") {
		t.Error(err)
	}
}

func TestRefusedRequests(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(2))
	for name, r := range map[string]struct {
		req  tinker.ForwardRequest
		want string
	}{
		"long": {batch(tokens(1, context_+2)),
			fmt.Sprintf("datum 0 has %d tokens; the context of base model %q has %d", context_+1, baseName, context_)},
		"token": {batch(mixed[0], []int32{1, vocab, 2}), "datum 1: token 1 is 139"},
		"image": {tinker.ForwardRequest{LossFn: tinker.CrossEntropy,
			Data: []tinker.Datum{{ModelInput: tinker.ModelInput{Chunks: []tinker.Chunk{{Image: &tinker.Image{}}}}}}},
			"reads text only"},
		"empty": {tinker.ForwardRequest{LossFn: tinker.CrossEntropy, Data: []tinker.Datum{{}}}, "datum 0 is empty"},
	} {
		f, err := c.Forward(testContext(t), r.req)
		if err := failure(t, f, err); !strings.Contains(err.Error(), r.want) || tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%s: %v, want %q", name, err, r.want)
		}
	}
	for name, r := range map[string]struct {
		req  tinker.CreateModelRequest
		want string
	}{
		"session": {tinker.CreateModelRequest{SessionID: "a/b", BaseModel: baseName, LoRA: lora(1)}, "session_id"},
		"alpha": {tinker.CreateModelRequest{BaseModel: baseName,
			LoRA: tinker.LoRA{Rank: 1, Alpha: -1, TrainMLP: true}}, "alpha -1"},
		"random": {tinker.CreateModelRequest{BaseModel: baseName, LoRA: lora(1), RandomInit: true},
			"random_init with LoRA rank 1"},
		"base": {tinker.CreateModelRequest{BaseModel: "other", LoRA: lora(1)},
			`base model "other" is not served; there are ["tiny"]`},
	} {
		if _, err := e.CreateModel(testContext(t), r.req); err == nil || !strings.Contains(err.Error(), r.want) ||
			tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%s: %v, want %q", name, err, r.want)
		}
	}
}

// Random choices follow from the seed and differ from each other.
func TestDrawnSeeds(t *testing.T) {
	dir, seed := writeModel(t, true, true), uint64(3)
	first := func() (ids []string, seeds []int64) {
		e := open(t, Options{Models: map[string]Model{baseName: {Dir: dir}}, Seed: &seed})
		for range 2 {
			l := lora(2)
			l.Seed = nil
			c, err := e.CreateModel(testContext(t), tinker.CreateModelRequest{BaseModel: baseName, LoRA: l})
			if err != nil {
				t.Fatal(err)
			}
			info, err := c.Info(testContext(t))
			if err != nil || info.LoRA.Alpha != 32 {
				t.Fatalf("%+v, %v", info, err)
			}
			ids, seeds = append(ids, info.ModelID), append(seeds, *info.LoRA.Seed)
		}
		return ids, seeds
	}
	ids, seeds := first()
	ids2, seeds2 := first()
	if !slices.Equal(ids, ids2) || !slices.Equal(seeds, seeds2) || ids[0] == ids[1] || seeds[0] == seeds[1] {
		t.Errorf("drawn %v %v, again %v %v", ids, seeds, ids2, seeds2)
	}
}

// Random weights need no files, and depend on the seed.
func TestRandomInit(t *testing.T) {
	dir := writeModel(t, true, true)
	if err := os.Remove(filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: dir}}})
	request := func(i int, seed int64) tinker.CreateModelRequest {
		return tinker.CreateModelRequest{SessionID: "r", ModelSeqID: int64(i), BaseModel: baseName,
			LoRA: tinker.LoRA{Seed: &seed}, RandomInit: true}
	}
	var got [][]float32
	for i, seed := range []int64{1, 1, 2} {
		c, err := e.CreateModel(testContext(t), request(i, seed))
		if err != nil {
			t.Fatal(err)
		}
		train(t, c, 1, mixed...)
		draw(t, sampler(t, e, c, "w"), sampleRequest(1, 4, 1, mixed[0]))
		got = append(got, logprobs(t, c, mixed[0])[0])
	}
	if !sameBits(got[0], got[1]) || sameBits(got[0], got[2]) {
		t.Error("random weights do not follow from their seed")
	}
	r := request(9, 1)
	r.RandomInit = false
	if _, err := e.CreateModel(testContext(t), r); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a base without weights: %v", err)
	}
}

// Runs that train at once do not disturb each other.
func TestRunsAtOnce(t *testing.T) {
	e := open(t, Options{MicroBatch: 64})
	kinds := []tinker.LoRA{lora(2), lora(8), lora(0), lora(2)}
	var want [4][][]float32
	for i, l := range kinds {
		c := create(t, e, int64(i), l)
		train(t, c, 3, mixed[i:]...)
		want[i] = logprobs(t, c, mixed...)
	}
	var runs []tinker.TrainingClient
	for i, l := range kinds {
		runs = append(runs, create(t, e, int64(10+i), l))
	}
	var steps []*tinker.Future[tinker.OptimStepOutput]
	for range 3 { // all are accepted before the first is done
		for i, c := range runs {
			_, ferr := c.ForwardBackward(testContext(t), batch(mixed[i:]...))
			o, err := c.OptimStep(testContext(t), adam(1e-2))
			if err := errors.Join(ferr, err); err != nil {
				t.Fatal(err)
			}
			steps = append(steps, o)
		}
	}
	for _, o := range steps {
		value(t, o, nil)
	}
	for i, c := range runs {
		if !allSame(logprobs(t, c, mixed...), want[i]) {
			t.Errorf("run %d gives other bits beside the others", i)
		}
	}
}
