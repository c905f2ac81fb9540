package sampling

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Recorder keeps the stability information.
type Recorder struct {
	State *state.Store
	Life  *life.Life
	Keep  Keep
}

// The stability information of a sample (record_stability_info) is the part of it that stable_reinforce needs: the
// tokens of each sequence and their log-probabilities under the policy that drew them. A training request names the
// sequence of each of its positions (provenance), and Attribute takes the sampler's log-probabilities from the
// recording, not from the client.
//
// As in the hosted service, a recording belongs to the session that sampled it and is kept for Keep.Stability after it
// was last used. A tenant's recordings take MaxStability bytes at most; the least recently used are deleted first.

// SequenceID names the i-th sequence of a request.
func SequenceID(sampler string, seq int64, i int) string {
	return fmt.Sprintf("%s:%d:%d", sampler, seq, i)
}

// remember records the sequences of a sample. It is logged before the sample's result, so that a result that survives
// a crash has its recordings too. The store is locked.
func (s *Recorder) remember(p *state.Sample, w *state.Sampler, prompt int, out tinker.SampleResponse) {
	u := s.State.Sessions[w.Session]
	if u == nil {
		return
	}
	now := s.Life.Now().UTC()
	for i, q := range out.Sequences {
		r := &state.Recording{Sequence: SequenceID(p.Sampler, p.Seq, i), Session: u.ID, Tenant: u.Tenant,
			Prompt: prompt, Time: now, Used: now}
		for j, token := range q.Tokens {
			r.Tokens = binary.LittleEndian.AppendUint32(r.Tokens, uint32(token))
			r.Logprobs = binary.LittleEndian.AppendUint32(r.Logprobs, math.Float32bits(q.Logprobs[j]))
		}
		s.State.AddRecording(r)
		if _, err := s.State.Record(state.RecStability, r); err != nil {
			s.Life.Log.Warn("server: stability information was not logged; it will be missing after a restart",
				"sequence", r.Sequence, "error", err)
		}
	}
	if s.State.Recorded.Bytes[u.Tenant] > s.Keep.MaxStability {
		s.makeRoom(u.Tenant)
	}
}

// makeRoom forgets a tenant's least recently used recordings: a quarter of them, so that it does not run for every
// sample. The store is locked.
func (s *Recorder) makeRoom(tenant string) {
	var list []*state.Recording
	for _, r := range s.State.Recorded.Of {
		if r.Tenant == tenant {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *state.Recording) int {
		return cmp.Or(a.Used.Compare(b.Used), cmp.Compare(a.Sequence, b.Sequence))
	})
	for _, r := range list {
		if s.State.Recorded.Bytes[tenant] <= s.Keep.MaxStability/4*3 {
			return
		}
		s.State.DropRecording(r.Sequence)
	}
}

// ForgetRecordings drops the recordings that were not used for Keep.Stability; the store is locked.
func (s *Recorder) ForgetRecordings() {
	now := s.Life.Now()
	for id, r := range s.State.Recorded.Of {
		if now.Sub(r.Used) > s.Keep.Stability {
			s.State.DropRecording(id)
		}
	}
}

// Attribute adds the recorded logprobs and sampled_mask to the data of a stable_reinforce request. Data without
// provenance must have both already, as this project's own client can send them. All errors are User errors.
func (s *Recorder) Attribute(session string, req wire.ForwardBackward) error {
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
func (s *Recorder) named(session string, from []wire.Provenance) map[string]*state.Recording {
	known := map[string]*state.Recording{}
	s.State.Lock()
	defer s.State.Unlock()
	for _, p := range from {
		for _, x := range slices.Concat(p.Input, p.Target) {
			if r := s.State.Recorded.Of[x.Sequence]; r != nil && r.Session == session {
				known[x.Sequence], r.Used = r, s.Life.Now()
			}
		}
	}
	return known
}

func attributeDatum(d tinker.Datum, from wire.Provenance, known map[string]*state.Recording) error {
	if from.Empty() {
		return tinker.Userf("it has no provenance; %s needs to know which sampled sequence is behind each token "+
			"(Datum.with_provenance)", tinker.StableReinforce)
	}
	targets := d.LossFnInputs[tinker.TargetTokens].Int
	if err := tiles("model_input", from.Input, d.ModelInput.Len(), known, nil); err != nil {
		return err
	}
	logprobs, sampled := make([]float32, len(targets)), make([]float32, len(targets))
	err := tiles(tinker.TargetTokens, from.Target, len(targets), known, func(row int, r *state.Recording,
		at int64) error {
		if int64(r.Token(at)) != targets[row] {
			return tinker.Userf("target_tokens[%d] is %d, but token %d of sequence %s is %d; the span does not begin "+
				"where the sequence does", row, targets[row], at, r.Sequence, r.Token(at))
		}
		logprobs[row], sampled[row] = r.Logprob(at), 1
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
func tiles(what string, spans []wire.Span, n int, known map[string]*state.Recording,
	each func(row int, r *state.Recording, at int64) error) error {
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
			limit, of = r.Len(), "sampled"
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
