package engine

import (
	"fmt"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Samples of a request that draw the same tokens are computed as one row until they part. Each has the bits that it
// has in requests with fewer samples, whose rows part otherwise; the first alone. So it is with much memory and with
// little.
func TestEqualSamplesAreOneRow(t *testing.T) {
	const n, most = 6, 40
	models := map[string]Model{baseName: {Dir: writeModel(t, true, true), Tokens: letters{}}}
	ask := func(temperature float64, count int) tinker.SampleRequest {
		r := sampleRequest(count, most, 7, mixed[3])
		r.Params.Temperature, r.Params.StopStrings, r.TopKSampleLogprobs = temperature, []string{"5;7"}, 2
		return r
	}
	for _, o := range []Options{{}, {CacheBytes: 1}, {CacheBytes: 40 << 10, MaxSequences: 4}} {
		o.Models = models
		for _, temperature := range []float64{0, 0.02, 0.1, 1} {
			e := open(t, o)
			c := samplerOf(t, e, create(t, e, 0, lora(4)), "w")
			together := draw(t, c, ask(temperature, n))
			rows, tokens := e.Stats().Sequences, 0
			for i := range n { // the first i+1 samples of a request, of which the last is new
				alone := draw(t, c, ask(temperature, i+1)).Sequences[i]
				got := together.Sequences[i]
				if fmt.Sprint(got) != fmt.Sprint(alone) {
					t.Fatalf("temperature %v, cache of %d bytes: sample %d is %v, with fewer %v", temperature,
						o.CacheBytes, i, got, alone)
				}
				tokens += len(got.Tokens)
			}
			if temperature == 0 && o.CacheBytes == 0 && rows > int64(most+1) {
				t.Errorf("%d rows for %d equal samples of at most %d tokens", rows, n, most)
			}
			if temperature == 1 && tokens < 20 {
				t.Errorf("%d tokens: nothing was tested", tokens)
			}
		}
	}
}
