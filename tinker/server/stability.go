package server

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// recorder keeps the stability information.
type recorder struct {
	state *store
	life  *life
	keep  Keep
}

// The stability information of a sample (record_stability_info) is the part of it that stable_reinforce needs: the
// tokens of each sequence and their log-probabilities under the policy that drew them. A training request names the
// sequence of each of its positions (provenance), and Attribute takes the sampler's log-probabilities from the
// recording, not from the client.
//
// As in the hosted service, a recording belongs to the session that sampled it and is kept for KeepStability after it
// was last used. A tenant's recordings take MaxStability bytes at most; the least recently used are deleted first.

// sequenceID names the i-th sequence of a request.
func sequenceID(sampler string, seq int64, i int) string {
	return fmt.Sprintf("%s:%d:%d", sampler, seq, i)
}

// remember records the sequences of a sample. It is logged before the sample's result, so that a result that survives
// a crash has its recordings too. The store is locked.
func (s *recorder) remember(p *sample, w *sampler, prompt int, out tinker.SampleResponse) {
	u := s.state.sessions[w.Session]
	if u == nil {
		return
	}
	now := s.life.now().UTC()
	for i, q := range out.Sequences {
		r := &recording{Sequence: sequenceID(p.Sampler, p.Seq, i), Session: u.ID, Tenant: u.Tenant, Prompt: prompt,
			Time: now, used: now}
		for j, token := range q.Tokens {
			r.Tokens = binary.LittleEndian.AppendUint32(r.Tokens, uint32(token))
			r.Logprobs = binary.LittleEndian.AppendUint32(r.Logprobs, math.Float32bits(q.Logprobs[j]))
		}
		s.state.addRecording(r)
		if _, err := s.state.record(recStability, r); err != nil {
			s.life.log.Warn("server: stability information was not logged; it will be missing after a restart",
				"sequence", r.Sequence, "error", err)
		}
	}
	if s.state.recorded.bytes[u.Tenant] > s.keep.MaxStability {
		s.makeRoom(u.Tenant)
	}
}

// makeRoom forgets a tenant's least recently used recordings: a quarter of them, so that it does not run for every
// sample. The store is locked.
func (s *recorder) makeRoom(tenant string) {
	var list []*recording
	for _, r := range s.state.recorded.of {
		if r.Tenant == tenant {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *recording) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.Sequence,
			b.Sequence))
	})
	for _, r := range list {
		if s.state.recorded.bytes[tenant] <= s.keep.MaxStability/4*3 {
			return
		}
		s.state.dropRecording(r.Sequence)
	}
}

// forgetRecordings drops the recordings that were not used for KeepStability; the store is locked.
func (s *recorder) forgetRecordings() {
	now := s.life.now()
	for id, r := range s.state.recorded.of {
		if now.Sub(r.used) > s.keep.Stability {
			s.state.dropRecording(id)
		}
	}
}

// Attribute adds the recorded logprobs and sampled_mask to the data of a stable_reinforce request. Data without
// provenance must have both already, as this project's own client can send them. All errors are User errors.
func (s *recorder) Attribute(session string, req wire.ForwardBackward) error {
	known := s.named(session, req.Provenance)
	for i, d := range req.Data {
		var from wire.Provenance
		if req.Provenance != nil {
			from = req.Provenance[i]
		}
		if _, own := d.LossFnInputs[tinker.SampledMask]; from.Empty() && own {
			continue
		}
		if err := attributeDatum(d, from, known); err != nil {
			return fmt.Errorf("datum %d: %w", i, err)
		}
	}
	return nil
}

// named looks up the named sequences of one session and records that they are used.
func (s *recorder) named(session string, from []wire.Provenance) map[string]*recording {
	known := map[string]*recording{}
	s.state.Lock()
	defer s.state.Unlock()
	for _, p := range from {
		for _, x := range slices.Concat(p.Input, p.Target) {
			if r := s.state.recorded.of[x.Sequence]; r != nil && r.Session == session {
				known[x.Sequence], r.used = r, s.life.now()
			}
		}
	}
	return known
}

func attributeDatum(d tinker.Datum, from wire.Provenance, known map[string]*recording) error {
	if from.Empty() {
		return tinker.Userf("it has no provenance; %s needs to know which sampled sequence is behind each token "+
			"(Datum.with_provenance)", tinker.StableReinforce)
	}
	targets := d.LossFnInputs[tinker.TargetTokens].Int
	if err := tiles("model_input", from.Input, d.ModelInput.Len(), known, nil); err != nil {
		return err
	}
	logprobs, sampled := make([]float32, len(targets)), make([]float32, len(targets))
	err := tiles(tinker.TargetTokens, from.Target, len(targets), known, func(row int, r *recording, at int64) error {
		if int64(r.token(at)) != targets[row] {
			return tinker.Userf("target_tokens[%d] is %d, but token %d of sequence %s is %d; the span does not begin "+
				"where the sequence does", row, targets[row], at, r.Sequence, r.token(at))
		}
		logprobs[row], sampled[row] = r.logprob(at), 1
		return nil
	})
	if err != nil {
		return err
	}
	shape := d.LossFnInputs[tinker.TargetTokens].Shape
	d.LossFnInputs[tinker.Logprobs] = tinker.Tensor{Shape: shape, Float: logprobs}
	d.LossFnInputs[tinker.SampledMask] = tinker.Tensor{Shape: shape, Float: sampled}
	return nil
}

// tiles checks that the spans name known sequences and cover exactly the n positions of what. It calls each for every
// sampled position.
func tiles(what string, spans []wire.Span, n int, known map[string]*recording, each func(row int, r *recording,
	at int64) error) error {
	row := 0
	for _, x := range spans {
		r := known[x.Sequence]
		if r == nil {
			return tinker.Userf("sequence %q of its provenance is not recorded in this session; sample it with "+
				"record_stability_info in the same session, and train on it within the time and the room that "+
				"recordings have", x.Sequence)
		}
		limit, of := int64(r.Prompt), "prompt"
		if x.Sampled {
			limit, of = r.len(), "sampled"
		}
		if x.Offset < 0 || x.Length < 0 || x.Offset > limit || x.Length > limit-x.Offset {
			return tinker.Userf("a span of %s has offset %d and length %d; sequence %s has %d %s tokens", what,
				x.Offset, x.Length, x.Sequence, limit, of)
		}
		if x.Length > int64(n-row) {
			return tinker.Userf("the provenance spans of %s cover more than its %d positions", what, n)
		}
		for j := int64(0); x.Sampled && each != nil && j < x.Length; j++ {
			if err := each(row+int(j), r, x.Offset+j); err != nil {
				return err
			}
		}
		row += int(x.Length)
	}
	if row != n {
		return tinker.Userf("the provenance spans of %s cover %d positions; it has %d", what, row, n)
	}
	return nil
}
