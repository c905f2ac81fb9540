package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// sampleRecord is an accepted request with the choice that chance made for it.
type sampleRecord struct {
	Sampler  string          `json:"sampler"`
	Seq      int64           `json:"seq"`
	Hash     [32]byte        `json:"hash"` // of the request as it came
	Seed     uint64          `json:"seed"`
	Accepted time.Time       `json:"accepted"`
	Request  json.RawMessage `json:"request,omitempty"` // nil once it is finished
	Samples  int             `json:"samples"`
	Recorded bool            `json:"recorded,omitempty"` // its stability information is kept
}

// sampleResult is how it ended: Proto, or an error.
type sampleResult struct {
	Sampler  string          `json:"sampler"`
	Seq      int64           `json:"seq"`
	Time     time.Time       `json:"time"`
	Proto    []byte          `json:"proto,omitempty"` // wire.EncodeSample
	Error    string          `json:"error,omitempty"`
	Category tinker.Category `json:"category,omitempty"`
}

// sample is one asample request.
type sample struct {
	sampleRecord
	raw      []byte // Request, while it runs
	tenant   string // whose share of s.sampling it takes
	size     int64  // and how many bytes of it
	done     chan struct{}
	result   sampleResult // once done
	finished time.Time
	fetched  time.Time // zero: nobody did
	order    int64     // among the ends of its sampler
	cancel   context.CancelFunc
}

func newSample(r sampleRecord) *sample {
	return &sample{sampleRecord: r, raw: r.Request, done: make(chan struct{})}
}

// finish notes the result; s.mu is held, or the log is read.
func (p *sample) finish(r sampleResult) {
	p.result, p.finished, p.raw, p.Request = r, r.Time, nil, nil
	close(p.done)
}

// maxKept bounds a sampling request, which is kept until it is done: its JSON can take six times as much in the log,
// whose records are bounded.
const maxKept = 128 << 20

func (s *Server) sample(c *call) (any, error) {
	if len(c.body) > maxKept {
		return nil, tinker.Userf("the request has %d bytes; a sampling request can have %d", len(c.body), maxKept)
	}
	req := wire.SampleRequest{NumSamples: 1} // unless it says otherwise
	if err := wire.Decode(c.body, &req); err != nil {
		return nil, err
	}
	asked, err := s.sampleRequest(req, 0)
	if err != nil {
		return nil, err
	}
	if err := s.room(); err != nil {
		return nil, err
	}
	key := sampleKey{req.SamplingSessionID, req.SeqID}
	hash := sha256.Sum256(c.body)
	var fresh *sample
	err = s.change(func(t *state) (int64, error) {
		if p := t.samples[key]; p != nil && t.samplers[key.sampler] != nil {
			if _, err := t.ownSampler(c.tenant, key.sampler); err != nil {
				return 0, err
			}
			if p.Hash != hash {
				return 0, tinker.Userf("%w", numbered.Reused(key.seq, "sampling session "+key.sampler))
			}
			return 0, nil
		}
		p, err := s.admit(c, req, asked.Prompt.Len())
		if err != nil {
			return 0, err
		}
		fresh = newSample(sampleRecord{Sampler: key.sampler, Seq: key.seq, Hash: hash, Seed: drawSeed(), Accepted: s.opts.Now().UTC(),
			Request: c.body, Samples: req.NumSamples, Recorded: req.RecordStabilityInfo})
		fresh.tenant, fresh.size = c.tenant, int64(len(c.body))
		t.samples[key] = fresh
		s.sampling.take(fresh.tenant, fresh.size)
		p.used = s.opts.Now()
		return s.record(recSample, fresh.sampleRecord)
	})
	if err != nil {
		s.withdraw(fresh)
		return nil, err
	}
	if fresh != nil {
		s.mu.Lock()
		s.draw(fresh)
		s.mu.Unlock()
	}
	promise := s.promiseOf(tokenSample, key.sampler, key.seq, "")
	for i := range req.NumSamples {
		promise.SampleSequenceIDs = append(promise.SampleSequenceIDs, sequenceID(key.sampler, key.seq, i))
	}
	return promise, nil
}

// withdraw forgets a request that could not be logged; nil is none.
func (s *Server) withdraw(p *sample) {
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.state.samples, sampleKey{p.Sampler, p.Seq})
	s.left(p, nil)
}

// left counts out a request that was counted in; w is the sampler that is busy with it, or nil. s.mu is held.
func (s *Server) left(p *sample, w *sampler) {
	s.sampling.release(p.tenant, p.size)
	if w != nil {
		w.busy--
		w.used = s.opts.Now()
	}
}

// admit checks whether one more request may wait. s.mu is held.
func (s *Server) admit(c *call, req wire.SampleRequest, tokens int) (*sampler, error) {
	if req.SamplingSessionID == "" {
		return nil, tinker.Userf("sampling_session_id is missing; create_sampling_session makes one for a base_model or a model_path")
	}
	p, err := s.state.ownSampler(c.tenant, req.SamplingSessionID)
	if err != nil {
		return nil, err
	}
	if _, err := s.state.active(c.tenant, p.Session); err != nil {
		return nil, err
	}
	if err := s.sampling.room(c.tenant, int64(len(c.body))); err != nil {
		s.stats.pushedBack.Inc()
		return nil, busy(c, err.Error())
	}
	if err := s.crowded(tinker.Sampling, c.tenant, tokens); err != nil {
		return nil, busy(c, err.Error())
	}
	return p, nil
}

func drawSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// maxSamples bounds the continuations of one request.
const maxSamples = 4096

// sampleRequest is the seam's form of a request; seed is for one that names none. Everything wrong with it is a User
// error.
func (s *Server) sampleRequest(req wire.SampleRequest, seed uint64) (tinker.SampleRequest, error) {
	out := tinker.SampleRequest{NumSamples: req.NumSamples, PromptLogprobs: req.PromptLogprobs, TopKPromptLogprobs: req.TopKPromptLogprobs,
		TopKSampleLogprobs: req.TopKSampleLogprobs, PromptAltTokens: req.PromptAltTokensK}
	var err error
	if out.Prompt, err = req.Prompt.Tinker(); err != nil {
		return out, fmt.Errorf("prompt: %w", err)
	}
	if out.Params, err = req.Params.Tinker(); err != nil {
		return out, fmt.Errorf("sampling_params: %w", err)
	}
	if out.Params.Seed == nil {
		out.Params.Seed = &seed
	}
	if t := req.TargetPromptLogprobs; t != nil {
		if out.TargetPromptLogprobs, err = t.Targets(); err != nil {
			return out, fmt.Errorf("target_prompt_logprobs: %w", err)
		}
	}
	switch n := req.PromptLogprobsLastN; {
	case req.NumSamples < 1 || req.NumSamples > maxSamples:
		return out, tinker.Userf("num_samples is %d; it must be 1 to %d", req.NumSamples, maxSamples)
	case req.SeqID < 0:
		return out, tinker.Userf("seq_id is %d; it must be 0 or more", req.SeqID)
	case n != nil && (!req.PromptLogprobs || *n < 1 || *n > out.Prompt.Len()-1):
		return out, tinker.Userf("prompt_logprobs_last_n is %d; it goes with prompt_logprobs and is 1 to %d for this prompt", *n, out.Prompt.Len()-1)
	}
	return out, nil
}

// draw runs an accepted request in the background. s.mu is held.
func (s *Server) draw(p *sample) {
	ctx, cancel := context.WithCancel(s.ctx)
	p.cancel = cancel
	w := s.state.samplers[p.Sampler]
	if w != nil {
		w.busy++
	}
	begun := s.work.begin(func() {
		defer cancel()
		prompt, out, err := s.run(ctx, p, w)
		if errors.Is(err, tinker.ErrClosed) || s.ctx.Err() != nil && err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
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

// run is the work of one request.
func (s *Server) run(ctx context.Context, p *sample, w *sampler) (prompt int, out tinker.SampleResponse, err error) {
	if w == nil {
		return 0, out, tinker.Userf("sampling session %s is not there any more", p.Sampler)
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

// forgetBefore leaves the first positions of a prompt unscored.
func forgetBefore(out *tinker.SampleResponse, at int) {
	for i := range at {
		out.PromptLogprobs[i] = float32(math.NaN())
		if out.TopKPromptLogprobs != nil {
			out.TopKPromptLogprobs[i] = nil
		}
	}
}

// sampled notes the end of a request. The result is logged without an fsync: a lost one is drawn again from the same
// seed.
func (s *Server) sampled(p *sample, w *sampler, prompt int, out tinker.SampleResponse, err error) {
	r := sampleResult{Sampler: p.Sampler, Seq: p.Seq, Time: s.opts.Now().UTC()}
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
		s.stats.tokens("prompt", prompt-out.PromptCacheHitTokens)
		s.stats.tokens("sample", drawn)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left(p, w)
	if p.Recorded && err == nil && w != nil {
		s.remember(p, w, prompt, out)
	}
	p.finish(r)
	s.state.keep(p, s.opts.MaxKeptBytes)
	if w != nil {
		w.ended(p)
	}
	if _, err := s.record(recResult, r); err != nil {
		s.opts.Log.Warn("server: a result was not logged; it is drawn again after a restart", "error", err)
	}
}
