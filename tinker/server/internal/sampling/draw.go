package sampling

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

func drawSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// draw executes an accepted sampling request in the background. The store is locked.
func (s *Samplers) draw(p *state.Sample) {
	ctx, cancel := context.WithCancel(s.Life.Ctx)
	p.Cancel = cancel
	w := s.State.Samplers[p.Sampler]
	if w != nil {
		w.Busy++
	}
	begun := s.Life.Begin(func() {
		defer cancel()
		prompt, out, err := s.run(ctx, p, w)
		if errors.Is(err, tinker.ErrClosed) || s.Life.Ctx.Err() != nil && err != nil {
			s.State.Lock()
			defer s.State.Unlock()
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
func (s *Samplers) run(ctx context.Context, p *state.Sample, w *state.Sampler) (prompt int,
	out tinker.SampleResponse, err error) {
	if w == nil {
		return 0, out, tinker.Userf("sampling session %s no longer exists; create another", p.Sampler)
	}
	var req wire.SampleRequest
	if err := wire.Decode(p.Raw, &req); err != nil {
		return 0, out, err
	}
	req.NumSamples = cmp.Or(req.NumSamples, 1)
	asked, err := s.sampleRequest(req, p.Seed)
	if err != nil {
		return 0, out, err
	}
	client, err := s.open(ctx, w)
	if err != nil {
		return 0, out, err
	}
	if w.Inflight > 0 {
		out, err = s.drawInflight(tinker.Promised(ctx), p, client, asked)
	} else {
		out, err = tinker.Sample(tinker.Promised(ctx), client, asked)
	}
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
func (s *Samplers) sampled(p *state.Sample, w *state.Sampler, prompt int, out tinker.SampleResponse, err error) {
	r := state.SampleResult{Sampler: p.Sampler, Seq: p.Seq, Time: s.Life.Now().UTC()}
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
		s.Stats.Tokens(p.Tenant, "prompt", prompt-out.PromptCacheHitTokens)
		s.Stats.Tokens(p.Tenant, "sample", drawn)
	}
	s.State.Lock()
	defer s.State.Unlock()
	s.left(p, w)
	if p.Recorded && err == nil && w != nil {
		s.Recorder.remember(p, w, prompt, out)
	}
	p.Finish(r)
	s.State.Keep(p, s.Keep.MaxResultBytes)
	if w != nil {
		w.Ended(p)
	}
	if _, err := s.State.Record(state.RecResult, p.Result); err != nil {
		s.Life.Log.Warn("server: a result was not logged; it is drawn again after a restart", "error", err)
	}
}

// ForgetSamples drops results whose retention has ended; the store is locked.
func (s *Samplers) ForgetSamples() {
	now := s.Life.Now()
	for _, p := range s.State.Samples {
		fetched := !p.Fetched.IsZero() && now.Sub(p.Fetched) > s.Keep.Results
		old := !p.Finished.IsZero() && now.Sub(p.Finished) > s.Keep.Unfetched
		if fetched || old {
			s.State.Forget(p)
		}
	}
	s.State.TidyKept()
	for _, w := range s.State.Samplers {
		if w.Busy == 0 && now.Sub(w.Used) > s.Keep.Results {
			w.Forget() // its weights are read again when they are needed
		}
	}
}

// resumeKept adds the results of an earlier process; the store is locked.
func (s *Samplers) resumeKept() {
	var done []*state.Sample
	for _, p := range s.State.Samples {
		if !p.Finished.IsZero() {
			p.Tenant = s.State.TenantOf(p.Sampler)
			done = append(done, p)
		}
	}
	slices.SortFunc(done, func(a, b *state.Sample) int { return a.Finished.Compare(b.Finished) })
	for _, p := range done {
		s.State.Keep(p, s.Keep.MaxResultBytes)
	}
}

// Resume draws the samples that an earlier process left unfinished, and keeps its results. The store is locked.
func (s *Samplers) Resume() {
	s.markSaved()
	for _, p := range s.State.Samples {
		if p.Finished.IsZero() {
			p.Size = int64(len(p.Raw))
			p.Tenant = s.State.TenantOf(p.Sampler)
			s.Capacity.Sampling.Take(p.Tenant, p.Size)
			s.draw(p)
		}
	}
	s.resumeKept()
}
