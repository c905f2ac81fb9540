package server

import (
	"crypto/sha256"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// maxKept limits the size of a sampling request in bytes. The request is logged, and its JSON can take six times as
// much in a log record, whose size is limited.
const maxKept = 128 << 20

func (s *samplers) sample(c *call) (any, error) {
	if len(c.body) > maxKept {
		return nil, tinker.Userf("the request has %d bytes; a sampling request can have %d", len(c.body), maxKept)
	}
	req := wire.SampleRequest{NumSamples: 1} // default
	if err := wire.Decode(c.body, &req); err != nil {
		return nil, err
	}
	asked, err := s.sampleRequest(req, 0)
	if err != nil {
		return nil, err
	}
	if err := s.capacity.disk(); err != nil {
		return nil, err
	}
	contexts, err := s.names.contexts(c)
	if err != nil {
		return nil, err
	}
	key := sampleKey{req.SamplingSessionID, req.SeqID}
	hash := sha256.Sum256(c.body)
	var fresh *sample
	err = s.state.change(func(t *store) (int64, error) {
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
		if err == nil {
			err = fits(asked, contexts[p.BaseModel])
		}
		if err != nil {
			return 0, err
		}
		fresh = newSample(sampleRecord{Sampler: key.sampler, Seq: key.seq, Hash: hash, Seed: drawSeed(),
			Accepted: s.life.now().UTC(),
			Request:  c.body, Samples: req.NumSamples, Recorded: req.RecordStabilityInfo})
		fresh.tenant, fresh.size = c.tenant, int64(len(c.body))
		t.samples[key] = fresh
		s.capacity.sampling.take(fresh.tenant, fresh.size)
		p.used = s.life.now()
		return s.state.record(recSample, fresh.sampleRecord)
	})
	if err != nil {
		s.withdraw(fresh)
		return nil, err
	}
	if fresh != nil {
		s.state.Lock()
		s.draw(fresh)
		s.state.Unlock()
	}
	promise := s.tickets.promise(ticketSample, key.sampler, key.seq, "")
	for i := range req.NumSamples {
		promise.SampleSequenceIDs = append(promise.SampleSequenceIDs, sequenceID(key.sampler, key.seq, i))
	}
	return promise, nil
}

// withdraw forgets a request that could not be logged; nil is ignored.
func (s *samplers) withdraw(p *sample) {
	if p == nil {
		return
	}
	s.state.Lock()
	defer s.state.Unlock()
	delete(s.state.samples, sampleKey{p.Sampler, p.Seq})
	s.left(p, nil)
}

// left removes a request from the pending ones; w is the sampler that is busy with it, or nil. The store is locked.
func (s *samplers) left(p *sample, w *sampler) {
	s.capacity.sampling.release(p.tenant, p.size)
	if w != nil {
		w.busy--
		w.used = s.life.now()
	}
}

// admit checks whether one more request may be queued. The store is locked.
func (s *samplers) admit(c *call, req wire.SampleRequest, tokens int) (*sampler, error) {
	if req.SamplingSessionID == "" {
		return nil, tinker.Userf("sampling_session_id is missing; create_sampling_session makes one for a base_model " +
			"or a model_path")
	}
	p, err := s.state.ownSampler(c.tenant, req.SamplingSessionID)
	if err != nil {
		return nil, err
	}
	if _, err := s.state.active(c.tenant, p.Session); err != nil {
		return nil, err
	}
	if err := s.capacity.queue(tinker.Sampling, c.tenant, tokens, int64(len(c.body))); err != nil {
		return nil, busy(c, err.Error())
	}
	return p, nil
}

// fits refuses a request that is longer than the context, in the words of the hosted service, which clients look for.
// The context is 0 where it is not known.
func fits(req tinker.SampleRequest, context int) error {
	prompt, most := req.Prompt.Len(), max(1, req.Params.MaxTokens)
	if context > 0 && prompt+most > context {
		return tinker.Userf("Prompt length plus max_tokens exceeds the model's context window: %d prompt tokens + %d "+
			"max_tokens > %d.", prompt, most, context)
	}
	return nil
}

// maxSamples limits the samples of one request.
const maxSamples = 4096

// sampleRequest converts a request to the types of package tinker; seed is for a request without one. Everything
// wrong with it is a User error.
func (s *samplers) sampleRequest(req wire.SampleRequest, seed uint64) (tinker.SampleRequest, error) {
	out := tinker.SampleRequest{NumSamples: req.NumSamples, PromptLogprobs: req.PromptLogprobs,
		TopKPromptLogprobs: req.TopKPromptLogprobs,
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
		return out, tinker.Userf("prompt_logprobs_last_n is %d; it goes with prompt_logprobs and is 1 to %d for this "+
			"prompt", *n, out.Prompt.Len()-1)
	}
	return out, nil
}
