package tinkertest

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// topSamples: the likeliest tokens are returned for each sampled one, whatever top_k and top_p are, and the samples
// keep their bits.
func (s *suite) topSamples() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	r := request(2, 8, 5, some...)
	r.Params.Temperature, r.Params.TopP = 0.7, 0.9
	plain := s.draw(c, r)
	r.TopKSampleLogprobs = 4
	got := s.draw(c, r)
	for i, q := range got.Sequences {
		p := plain.Sequences[i]
		if p.TopKLogprobs != nil || !slices.Equal(p.Tokens, q.Tokens) || !sameBits(p.Logprobs, q.Logprobs) ||
			len(q.TopKLogprobs) != len(q.Tokens) {
			s.Fatalf("sample %d: %v, without topk_sample_logprobs %v", i, q, p)
		}
		for j, row := range q.TopKLogprobs {
			at := slices.IndexFunc(row, func(x tinker.TokenLogprob) bool { return x.Token == q.Tokens[j] })
			if len(row) != 4 || !descending(row) || row[0].Logprob < q.Logprobs[j] ||
				at >= 0 && row[at].Logprob != q.Logprobs[j] {
				s.Errorf("sample %d, token %d (%d, %v): %v", i, j, q.Tokens[j], q.Logprobs[j], row)
			}
		}
	}
	// the first tokens of all samples are drawn from one row, and scoring it as a prompt gives the same
	if a, b := got.Sequences[0].TopKLogprobs[0], got.Sequences[1].TopKLogprobs[0]; !slices.Equal(a, b) {
		s.Errorf("behind one prompt: %v and %v", a, b)
	}
	full := append(slices.Clone(some), got.Sequences[0].Tokens...)
	r = request(1, 1, 5, full...)
	r.TopKPromptLogprobs = 4
	top := s.draw(c, r).TopKPromptLogprobs[len(some):]
	for j, row := range got.Sequences[0].TopKLogprobs {
		if s.caps.ExactLogprobs && !slices.Equal(row, top[j]) {
			s.Errorf("token %d: %v while sampling, %v as a prompt", j, row, top[j])
		}
	}
}

func descending(row []tinker.TokenLogprob) bool {
	return slices.IsSortedFunc(row, func(a, b tinker.TokenLogprob) int { return cmp.Compare(b.Logprob, a.Logprob) })
}

// targets: the logprobs of chosen tokens at chosen positions, dense and sparse.
func (s *suite) targets() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	n := len(some) - 1
	lp, err := tinker.ComputeLogprobs(s.ctx, c, tinker.Text(some))
	if err != nil {
		s.Fatal(err)
	}
	dense := &tinker.Matrix[int32]{Shape: [2]int{n, 2}}
	sparse := &tinker.Matrix[int32]{Shape: [2]int{n, 1 << 20}, Start: []int64{0}}
	for i := range n {
		dense.Values = append(dense.Values, some[i+1], -1)
		if i%2 == 1 {
			sparse.Values, sparse.Columns = append(sparse.Values, some[i+1]), append(sparse.Columns, int64(i))
		}
		sparse.Start = append(sparse.Start, int64(len(sparse.Values)))
	}
	r := request(1, 4, 5, some...)
	plain := s.draw(c, r).Sequences[0]
	for name, m := range map[string]*tinker.Matrix[int32]{"dense": dense, "sparse": sparse} {
		r.TargetPromptLogprobs = m
		res := s.draw(c, r)
		got := res.TargetPromptLogprobs
		if got == nil || got.Shape != m.Shape || len(got.Values) != len(m.Values) ||
			!slices.Equal(got.Start, m.Start) || !slices.Equal(got.Columns, m.Columns) {
			s.Fatalf("%s: %+v for %+v", name, got, m)
		}
		for i := range n {
			ids, first := m.Row(i)
			for j, id := range ids {
				want := float32(0)
				if id >= 0 {
					want = lp[i+1]
				}
				if v := got.Values[first+j]; math.Float32bits(v) != math.Float32bits(want) {
					s.Errorf("%s: token %d at position %d: %v, want %v", name, id, i+1, v, want)
				}
			}
		}
		if q := res.Sequences[0]; res.PromptLogprobs != nil || !slices.Equal(q.Tokens, plain.Tokens) ||
			!sameBits(q.Logprobs, plain.Logprobs) {
			s.Errorf("%s: the sample is %v beside targets, %v without", name, q, plain)
		}
	}
	for name, m := range map[string]*tinker.Matrix[int32]{
		"a row too few":       {Shape: [2]int{n - 1, 1}, Values: slices.Repeat([]int32{1}, n-1)},
		"no token":            {Shape: [2]int{n, 1}, Values: slices.Repeat([]int32{-1}, n)},
		"beyond vocabulary":   {Shape: [2]int{n, 1}, Values: slices.Repeat([]int32{1 << 30}, n)},
		"below -1":            {Shape: [2]int{n, 1}, Values: slices.Repeat([]int32{-2}, n)},
		"shape without cells": {Shape: [2]int{n, 1 << 20}, Values: []int32{1}},
		"column out of range": {Shape: [2]int{n, 1}, Values: []int32{1},
			Start: append([]int64{0}, slices.Repeat([]int64{1}, n)...), Columns: []int64{1}},
		"falling pointers": {Shape: [2]int{n, 1}, Values: []int32{1},
			Start: append([]int64{0, 5}, slices.Repeat([]int64{1}, n-1)...), Columns: []int64{0}},
	} {
		r.TargetPromptLogprobs = m
		f, err := c.Sample(s.ctx, r)
		_, err = result(s, f, err)
		s.wantUser("targets: "+name, err)
	}
}

// alternatives: tokens drawn at the positions of a prompt.
func (s *suite) alternatives() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	const k = 64
	r := request(1, 4, 5, some...)
	plain := s.draw(c, r).Sequences[0]
	r.PromptAltTokens, r.TopKPromptLogprobs = k, 100
	got, again := s.draw(c, r), s.draw(c, r)
	if q := got.Sequences[0]; !slices.Equal(q.Tokens, plain.Tokens) || !sameBits(q.Logprobs, plain.Logprobs) {
		s.Errorf("the sample is %v beside alternatives, %v without", q, plain)
	}
	if len(got.PromptAltTokens) != len(some) || got.PromptAltTokens[0] != nil {
		s.Fatalf("alternatives at %d positions, want %d with none at 0", len(got.PromptAltTokens), len(some))
	}
	kinds := 0
	for j, row := range got.PromptAltTokens[1:] {
		if len(row) != k || !slices.Equal(row, again.PromptAltTokens[j+1]) {
			s.Fatalf("position %d: %v, drawn again with the same seed %v", j+1, row, again.PromptAltTokens[j+1])
		}
		seen := map[int32]int{}
		for _, x := range row {
			seen[x.Token]++
			at := slices.IndexFunc(got.TopKPromptLogprobs[j+1],
				func(y tinker.TokenLogprob) bool { return x.Token == y.Token })
			if at >= 0 && got.TopKPromptLogprobs[j+1][at].Logprob != x.Logprob {
				s.Errorf("position %d: %v, the prompt's logprobs say %v", j+1, x, got.TopKPromptLogprobs[j+1][at])
			}
		}
		kinds += len(seen)
		// the likeliest token comes as often as it should, within five standard deviations
		best := got.TopKPromptLogprobs[j+1][0]
		p := math.Exp(float64(best.Logprob))
		if off := math.Abs(float64(seen[best.Token]) - float64(k*p)); off > float64(5*math.Sqrt(k*p*(1-p)))+1 {
			s.Errorf("position %d: token %d of probability %.3f was drawn %d times of %d", j+1, best.Token, p,
				seen[best.Token], k)
		}
	}
	if kinds <= len(some) {
		s.Errorf("%d different tokens at %d positions: the draws are all alike", kinds, len(some)-1)
	}
	r.Params.Temperature, r.PromptAltTokens = 0, 2
	for j, row := range s.draw(c, r).PromptAltTokens[1:] {
		if best := got.TopKPromptLogprobs[j+1][0]; !slices.Equal(row, []tinker.TokenLogprob{best, best}) {
			s.Errorf("position %d, greedy: %v, want %v twice", j+1, row, best)
		}
	}
	one := request(1, 1, 5, some[0])
	one.PromptAltTokens = 3
	if rows := s.draw(c, one).PromptAltTokens; len(rows) != 1 || len(rows[0]) != 0 {
		s.Errorf("alternatives of a prompt of one token: %v", rows)
	}
}

// noStop: an end-of-turn token ends a sample by default and does not with NoStop; up to there the bits are the same.
func (s *suite) noStop() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	r := request(64, 40, 8, some...)
	r.Params.StopTokens, r.Params.Temperature = nil, 2
	byDefault := s.draw(c, r)
	r.Params.NoStop = true
	ended := 0
	for i, q := range s.draw(c, r).Sequences {
		p := byDefault.Sequences[i]
		if q.StopReason != tinker.StopLength || len(q.Tokens) != 40 {
			s.Errorf("sample %d ended after %d tokens of 40: %s", i, len(q.Tokens), q.StopReason)
		} else if !slices.Equal(q.Tokens[:len(p.Tokens)], p.Tokens) ||
			!sameBits(q.Logprobs[:len(p.Tokens)], p.Logprobs) {
			s.Errorf("sample %d: %v, by default %v", i, q.Tokens, p.Tokens)
		}
		if p.StopReason == tinker.StopStop {
			ended++
		}
	}
	if ended == 0 {
		s.Error("none of 64 samples ended before its limit, so the test checks nothing")
	}
	r.Params.StopTokens = []int32{1}
	f, err := c.Sample(s.ctx, r)
	_, err = result(s, f, err)
	s.wantUser("no stop and a stop token", err)
}
