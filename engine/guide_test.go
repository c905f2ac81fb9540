package engine

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// parity lets a sample draw tokens that are even after an even number of draws, and odd ones otherwise; each at half
// of its logit.
type parity int32

func (p parity) Shape(row []float32) {
	for i := range row {
		if row[i] /= 2; int32(i)%2 != int32(p)%2 {
			row[i] = float32(math.Inf(-1))
		}
	}
}

func (p parity) After(int32) tinker.Guide { return p + 1 }

// A guided sample is drawn from the distribution that the guide leaves, with its logprobs, whatever else is computed:
// by how many threads, beside which requests, streamed or not, with how much memory.
func TestGuide(t *testing.T) {
	dir := writeModel(t, true, true)
	guided := sampleRequest(4, 30, 7, mixed[0])
	guided.Params.Guide, guided.Params.TopP, guided.TopKSampleLogprobs = parity(0), 0.9, vocab
	var want tinker.SampleResponse
	for _, o := range []Options{{Threads: 2}, {Threads: 1}, {CacheBytes: 1}, {MaxSequences: 1}} {
		o.Models = map[string]Model{baseName: {Dir: dir}}
		e := open(t, o)
		s := samplerOf(t, e, create(t, e, 0, lora(4)), "w")
		var beside []*tinker.Future[tinker.SampleResponse]
		for i, prompt := range mixed {
			f, err := s.Sample(testContext(t), sampleRequest(3, 40, uint64(i), prompt))
			if err != nil {
				t.Fatal(err)
			}
			beside = append(beside, f)
		}
		stream, err := tinker.OpenStream(testContext(t), s, guided)
		if err != nil {
			t.Fatal(err)
		}
		got := value(t, stream.Result(), nil)
		for _, f := range beside {
			value(t, f, nil)
		}
		if want.Sequences == nil {
			want = draw(t, s, guided)
		}
		for i, q := range got.Sequences {
			if w := want.Sequences[i]; !slices.Equal(q.Tokens, w.Tokens) || !sameBits(q.Logprobs, w.Logprobs) {
				t.Errorf("%+v: sample %d is %v, want %v", o, i, q, w)
			}
			checkGuided(t, q)
		}
	}
}

// checkGuided checks that the logprobs of a sample are of a distribution over the tokens that parity leaves.
func checkGuided(t *testing.T, q tinker.SampledSequence) {
	t.Helper()
	for j, token := range q.Tokens {
		sum := 0.0
		for _, x := range q.TopKLogprobs[j] {
			p := math.Exp(float64(x.Logprob))
			if sum += p; p > 0 && x.Token%2 != int32(j)%2 {
				t.Errorf("token %d is excluded at %d and has the probability %v", x.Token, j, p)
			}
			if x.Token == token && x.Logprob != q.Logprobs[j] {
				t.Errorf("token %d has the logprobs %v and %v", token, x.Logprob, q.Logprobs[j])
			}
		}
		if token%2 != int32(j)%2 || math.Abs(sum-1) > 1e-3 {
			t.Error(fmt.Sprint("token ", token, " at ", j, " of a distribution that sums to ", sum))
		}
	}
}
