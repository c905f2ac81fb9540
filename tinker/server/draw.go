package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func drawSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// draw executes an accepted sampling request in the background. The store is locked.
func (s *samplers) draw(p *sample) {
	ctx, cancel := context.WithCancel(s.life.ctx)
	p.cancel = cancel
	w := s.state.samplers[p.Sampler]
	if w != nil {
		w.busy++
	}
	begun := s.life.begin(func() {
		defer cancel()
		prompt, out, err := s.run(ctx, p, w)
		if errors.Is(err, tinker.ErrClosed) || s.life.ctx.Err() != nil && err != nil {
			s.state.Lock()
			defer s.state.Unlock()
			s.left(p, w) // the next process draws it again
			return
		}
		if errors.Is(err, context.Canceled) {
			err = tinker.Userf("the request was cancelled")
		}
		s.sampled(p, w, prompt, out, err)
	})
	if !begun {
		cancel()
		s.left(p, w)
	}
}

// run samples one request.
func (s *samplers) run(ctx context.Context, p *sample, w *sampler) (prompt int, out tinker.SampleResponse, err error) {
	if w == nil {
		return 0, out, tinker.Userf("sampling session %s no longer exists; create another", p.Sampler)
	}
	var req wire.SampleRequest
	if err := wire.Decode(p.raw, &req); err != nil {
		return 0, out, err
	}
	if req.NumSamples == 0 {
		req.NumSamples = 1
	}
	asked, err := s.sampleRequest(req, p.Seed)
	if err != nil {
		return 0, out, err
	}
	client, err := s.open(ctx, w)
	if err != nil {
		return 0, out, err
	}
	f, err := client.Sample(tinker.Promised(ctx), asked)
	if err != nil {
		return 0, out, err
	}
	out, err = f.Wait(ctx)
	if n := req.PromptLogprobsLastN; n != nil && err == nil {
		forgetBefore(&out, len(out.PromptLogprobs)-*n)
	}
	return asked.Prompt.Len(), out, err
}

// forgetBefore removes the scores of a prompt's first positions.
func forgetBefore(out *tinker.SampleResponse, at int) {
	for i := range at {
		out.PromptLogprobs[i] = float32(math.NaN())
		if out.TopKPromptLogprobs != nil {
			out.TopKPromptLogprobs[i] = nil
		}
	}
}

// sampled records the end of a request. The result is logged without an fsync: a lost result is drawn again from the
// same seed.
func (s *samplers) sampled(p *sample, w *sampler, prompt int, out tinker.SampleResponse, err error) {
	r := sampleResult{Sampler: p.Sampler, Seq: p.Seq, Time: s.life.now().UTC()}
	if err != nil {
		r.Error, r.Category = tinker.BriefText(err.Error()), tinker.CategoryOf(err)
		if errors.Is(err, wire.ErrMalformed) || errors.Is(err, tinker.ErrNotFound) {
			r.Category = tinker.User
		}
	} else {
		r.Proto = wire.EncodeSample(out)
		drawn := 0
		for _, q := range out.Sequences {
			drawn += len(q.Tokens)
		}
		s.stats.tokens(p.tenant, "prompt", prompt-out.PromptCacheHitTokens)
		s.stats.tokens(p.tenant, "sample", drawn)
	}
	s.state.Lock()
	defer s.state.Unlock()
	s.left(p, w)
	if p.Recorded && err == nil && w != nil {
		s.recorder.remember(p, w, prompt, out)
	}
	p.finish(r)
	s.state.keep(p, s.keep.MaxResultBytes)
	if w != nil {
		w.ended(p)
	}
	if _, err := s.state.record(recResult, p.result); err != nil {
		s.life.log.Warn("server: a result was not logged; it is drawn again after a restart", "error", err)
	}
}
