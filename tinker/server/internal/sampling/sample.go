package sampling

import (
	"crypto/sha256"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/numbered"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// maxKept limits the size of a sampling request in bytes. The request is logged, and its JSON can take six times as
// much in a log record, whose size is limited.
const maxKept = 128 << 20

func (s *Samplers) Sample(c *edge.Call) (any, error) {
	if len(c.Body) > maxKept {
		return nil, tinker.Userf("the request has %d bytes; a sampling request can have %d", len(c.Body), maxKept)
	}
	req := wire.SampleRequest{NumSamples: 1} // default
	if err := wire.Decode(c.Body, &req); err != nil {
		return nil, err
	}
	asked, err := s.sampleRequest(req, 0)
	if err != nil {
		return nil, err
	}
	if err := s.Capacity.Disk(); err != nil {
		return nil, err
	}
	contexts, err := s.Names.Contexts(c)
	if err != nil {
		return nil, err
	}
	key := state.SampleKey{Sampler: req.SamplingSessionID, Seq: req.SeqID}
	hash := sha256.Sum256(c.Body)
	var fresh *state.Sample
	err = s.State.Change(func(t *state.Store) (int64, error) {
		if p := t.Samples[key]; p != nil && t.Samplers[key.Sampler] != nil {
			if _, err := t.OwnSampler(c.Tenant, key.Sampler); err != nil {
				return 0, err
			}
			if p.Hash != hash {
				return 0, tinker.Userf("%w", numbered.Reused(key.Seq, "sampling session "+key.Sampler))
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
		fresh = state.NewSample(state.SampleRecord{Sampler: key.Sampler, Seq: key.Seq, Hash: hash, Seed: drawSeed(),
			Accepted: s.Life.Now().UTC(),
			Request:  c.Body, Samples: req.NumSamples, Recorded: req.RecordStabilityInfo})
		fresh.Tenant, fresh.Size = c.Tenant, int64(len(c.Body))
		t.Samples[key] = fresh
		s.Capacity.Sampling.Take(fresh.Tenant, fresh.Size)
		t.Use(p)
		return s.State.Record(state.RecSample, fresh.SampleRecord)
	})
	if err != nil {
		s.withdraw(fresh)
		return nil, err
	}
	if fresh != nil {
		s.State.Lock()
		s.draw(fresh)
		s.State.Unlock()
	}
	promise := s.Tickets.Promise(ticket.Sample, key.Sampler, key.Seq, "")
	for i := range req.NumSamples {
		promise.SampleSequenceIDs = append(promise.SampleSequenceIDs, SequenceID(key.Sampler, key.Seq, i))
	}
	return promise, nil
}

// withdraw forgets a request that could not be logged; nil is ignored.
func (s *Samplers) withdraw(p *state.Sample) {
	if p == nil {
		return
	}
	s.State.Lock()
	defer s.State.Unlock()
	delete(s.State.Samples, state.SampleKey{Sampler: p.Sampler, Seq: p.Seq})
	s.left(p, nil)
}

// left removes a request from the pending ones; w is the sampler that is busy with it, or nil. The store is locked.
func (s *Samplers) left(p *state.Sample, w *state.Sampler) {
	s.Capacity.Sampling.Release(p.Tenant, p.Size)
	if w != nil {
		w.Busy--
		w.Used = s.Life.Now()
	}
}

// admit checks whether one more request may be queued. The store is locked.
func (s *Samplers) admit(c *edge.Call, req wire.SampleRequest, tokens int) (*state.Sampler, error) {
	if req.SamplingSessionID == "" {
		return nil, tinker.Userf("sampling_session_id is missing; create_sampling_session makes one for a base_model " +
			"or a model_path")
	}
	p, err := s.State.OwnSampler(c.Tenant, req.SamplingSessionID)
	if err != nil {
		return nil, err
	}
	if _, err := s.State.Active(c.Tenant, p.Session); err != nil {
		return nil, err
	}
	if err := s.Capacity.Queue(tinker.Sampling, c.Tenant, tokens, int64(len(c.Body))); err != nil {
		return nil, edge.Busy(c, err.Error())
	}
	return p, nil
}

// fits refuses a request that is longer than the context, in the words of the hosted service, which clients look for.
// The context is 0 if it is not known.
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
func (s *Samplers) sampleRequest(req wire.SampleRequest, seed uint64) (tinker.SampleRequest, error) {
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
