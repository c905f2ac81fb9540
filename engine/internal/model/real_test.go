package model

import (
	"flag"
	"math"
	"path/filepath"
	"testing"
)

var ggufLogprobs = flag.String("gguf.logprobs", "", "transformers' log-probabilities, see testdata/logprobs.py")

// A real model's log-probabilities are about as near to transformers' in float32 as transformers' in bf16 are. make
// gguf-logprobs runs it on a real model's file.
func TestRealLogprobs(t *testing.T) {
	if *ggufFile == "" || *ggufLogprobs == "" {
		t.Skip("no real file: make gguf-logprobs GGUF=FILE.gguf")
	}
	r, k := newRunner(t, 2)
	w := loadFrom(t, fromGGUF(t, *ggufFile), k)
	all := readFloats(t, *ggufLogprobs)
	var tokens []int32
	for _, id := range all["tokens"] {
		tokens = append(tokens, int32(id))
	}
	seqs := batch(w.Config, nil, tokens)
	hidden := r.Forward(w, seqs, nil)
	logp := make([]float32, len(tokens))
	r.Score(w, seqs, hidden, next(tokens), 1, logp, nil, nil)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	ours, theirs := difference(logp, all["float32"]), difference(all["bf16"], all["float32"])
	t.Logf("%s, %d tokens: |Δ logprob| to transformers in float32, mean and largest: ours %.4f and %.3f, "+
		"transformers in bf16 %.4f and %.3f; perplexity %.4f, float32 %.4f, bf16 %.4f", filepath.Base(*ggufFile),
		len(tokens), ours.mean, ours.most, theirs.mean, theirs.most, perplexity(logp[:len(tokens)-1]),
		perplexity(all["float32"]), perplexity(all["bf16"]))
	if !(ours.mean <= 1.25*theirs.mean) {
		t.Errorf("the mean difference is %v, transformers' in bf16 is %v", ours.mean, theirs.mean)
	}
}

type differences struct{ mean, most float64 }

// difference compares log-probabilities.
func difference(got, want []float32) (d differences) {
	for i, w := range want {
		x := math.Abs(float64(got[i]) - float64(w))
		d.mean, d.most = d.mean+x/float64(len(want)), max(d.most, x)
	}
	return d
}

func perplexity(logp []float32) float64 {
	sum := 0.0
	for _, v := range logp {
		sum += float64(v)
	}
	return math.Exp(-sum / float64(len(logp)))
}
