package server

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/sampling"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// recorded samples with stability information and returns the sequence and its id; the prompt is 5 6 7.
func recorded(r *rig, sampler string, seq int64) (string, tinker.SampledSequence) {
	r.t.Helper()
	var p wire.Promise
	r.post("/asample", asample(sampler, seq, map[string]any{"record_stability_info": true}), &p)
	if len(p.SampleSequenceIDs) != 1 {
		r.t.Fatalf("promise %+v", p)
	}
	return p.SampleSequenceIDs[0], r.samples(p.RequestID).Sequences[0]
}

// stableBatch is the training request that the cookbook makes of such a sample. Its own logprobs are wrong: the server
// must use the recording.
func stableBatch(model string, seq int64, id string, q tinker.SampledSequence,
	change func(*wire.ForwardBackward)) []byte {
	tokens := append([]int32{5, 6, 7}, q.Tokens...)
	n := len(tokens) - 1
	targets, a := make([]int64, n), make([]float32, n)
	for i := range n {
		targets[i] = int64(tokens[i+1])
		if i >= 2 {
			a[i] = 0.5
		}
	}
	b := wire.ForwardBackward{ModelID: model, SeqID: seq, LossFn: tinker.StableReinforce,
		Data: []tinker.Datum{{ModelInput: tinker.Text(tokens[:n]),
			LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.Ints(targets),
				tinker.Advantages: tinker.Floats(a), tinker.Logprobs: tinker.Floats(make([]float32, n))}}},
		Provenance: []wire.Provenance{{
			Input: []wire.Span{{Sequence: id, Length: 3}, {Sequence: id, Sampled: true, Length: int64(n - 3)}},
			Target: []wire.Span{{Sequence: id, Offset: 1, Length: 2}, {Sequence: id, Sampled: true,
				Length: int64(len(q.Tokens))}}}}}
	if change != nil {
		change(&b)
	}
	return wire.EncodeForwardBackward(b)
}

// The loss uses the log-probabilities recorded when a sequence was drawn, also after a restart: on policy the loss is
// that of REINFORCE to the last bit.
func TestStableReinforce(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	m := r.model(session, 0)
	id, q := recorded(r, r.sampler(session, 0, map[string]any{"base_model": "tiny"}), 0)
	check := func(seq int64) {
		t.Helper()
		out := r.output(r.promise("/forward_backward", stableBatch(m, seq, id, q, nil)))
		want := 0.0
		for i, p := range q.Logprobs {
			if out.LossFnOutputs[0][tinker.Logprobs].Float[i+2] != p {
				t.Errorf("token %d has logprob %v when it is trained, %v when it was sampled", i,
					out.LossFnOutputs[0][tinker.Logprobs].Float[i+2], p)
			}
			want -= float64(p) * 0.5
		}
		if got := out.Metrics["loss:sum"]; math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("loss %v, want %v", got, want)
		}
	}
	check(1)
	r.restart()
	check(2)
	r.server.state.Lock()
	err := r.server.state.Compact()
	r.server.state.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	r.restart()
	check(3)
}

// A datum with a wrong provenance is refused by name and uses up its number.
func TestProvenanceIsChecked(t *testing.T) {
	r := newRig(t, Options{})
	session, other := r.session(), r.session()
	m, foreign := r.model(session, 0), r.model(other, 0)
	sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	id, q := recorded(r, sampler, 0)
	plain := r.promise("/asample", asample(sampler, 1, nil))
	r.samples(plain)
	seq := int64(0)
	for _, c := range []struct {
		want   string
		change func(b *wire.ForwardBackward)
	}{
		{"datum 0: it has no provenance", func(b *wire.ForwardBackward) { b.Provenance = nil }},
		{"is not recorded in this session", func(b *wire.ForwardBackward) { b.Provenance[0].Input[0].Sequence = "x" }},
		{"is not recorded in this session",
			func(b *wire.ForwardBackward) { b.Provenance[0].Target[1].Sequence = sampling.SequenceID(sampler, 1, 0) }},
		{"of model_input cover 2 positions", func(b *wire.ForwardBackward) {
			b.Provenance[0].Input = []wire.Span{{Sequence: id, Length: 2}}
		}},
		{"cover more than its", func(b *wire.ForwardBackward) {
			b.Provenance[0].Target = append(b.Provenance[0].Target, wire.Span{Sequence: id, Length: 1})
		}},
		{"has offset 1 and length 3; sequence " + id + " has 3 prompt tokens",
			func(b *wire.ForwardBackward) { b.Provenance[0].Input[0].Offset = 1 }},
		{"length -1", func(b *wire.ForwardBackward) { b.Provenance[0].Input[0].Length = -1 }},
		{"offset 9223372036854775807",
			func(b *wire.ForwardBackward) { b.Provenance[0].Target[1].Offset = math.MaxInt64 }},
		{"target_tokens[2] is", func(b *wire.ForwardBackward) {
			b.Data[0].LossFnInputs[tinker.TargetTokens].Int[2] = (int64(q.Tokens[0]) + 1) % 128
		}},
		{"advantages[0] is 1, but target 0 was not sampled",
			func(b *wire.ForwardBackward) { b.Data[0].LossFnInputs[tinker.Advantages].Float[0] = 1 }},
	} {
		seq++
		text, category := r.failure(r.promise("/forward_backward", stableBatch(m, seq, id, q, c.change)))
		if category != "user" || !strings.Contains(text, c.want) {
			t.Errorf("error %q of category %q; want a user error with %q", text, category, c.want)
		}
	}
	r.output(r.promise("/forward_backward", stableBatch(m, seq+1, id, q, nil)))
	if text, _ := r.failure(r.promise("/forward_backward", stableBatch(foreign, 1, id, q,
		nil))); !strings.Contains(text, "not recorded in this session") {
		t.Errorf("another session: %q", text)
	}
	own := r.promise("/forward_backward", stableBatch(m, seq+2, id, q, func(b *wire.ForwardBackward) {
		b.Provenance = nil
		n := b.Data[0].ModelInput.Len()
		b.Data[0].LossFnInputs[tinker.SampledMask] = tinker.Floats(append([]float32{0, 0}, make([]float32, n-2)...))
		clear(b.Data[0].LossFnInputs[tinker.Advantages].Float)
	}))
	r.output(own)
}

// Recordings are kept for a day after their last use. Beyond a tenant's limit the least recently used are deleted.
func TestStabilityIsForgotten(t *testing.T) {
	r := newRig(t, Options{Keep: Keep{MaxStability: 4000}})
	session := r.session()
	m := r.model(session, 0)
	sampler := r.sampler(session, 0, map[string]any{"base_model": "tiny"})
	first, q := recorded(r, sampler, 0)
	seq := int64(0)
	for i := range 40 {
		recorded(r, sampler, int64(i+1))
		if i%3 == 0 {
			r.output(r.promise("/forward_backward", stableBatch(m, seq+1, first, q, nil)))
			seq++
		}
	}
	r.server.state.Lock()
	n, bytes := len(r.server.state.Recorded.Of), r.server.state.Recorded.Bytes
	r.server.state.Unlock()
	if n > 12 || n < 6 || len(bytes) != 1 {
		t.Errorf("%d recordings of 41 are kept, %v bytes", n, bytes)
	}
	later := func(d time.Duration) {
		r.clock.Add(int64(d))
		r.server.state.Lock()
		r.server.recorder.ForgetRecordings()
		r.server.state.Unlock()
	}
	for range 2 {
		later(20 * time.Hour)
		r.output(r.promise("/forward_backward", stableBatch(m, seq+1, first, q, nil)))
		seq++
	}
	later(25 * time.Hour)
	seq++
	if text, _ := r.failure(r.promise("/forward_backward", stableBatch(m, seq, first, q,
		nil))); !strings.Contains(text, "not recorded") {
		t.Errorf("after a day: %q", text)
	}
	if len(r.server.state.Recorded.Bytes) != 0 {
		t.Errorf("%v bytes of nothing", r.server.state.Recorded.Bytes)
	}
}

// A model's optimizer and its momentum survive a restart: training continues with the bits of an unbroken run.
func TestDimuonOverARestart(t *testing.T) {
	r := newRig(t, Options{})
	session := r.session()
	var ids [2]string
	for i := range ids {
		body := createModel(session, int64(i))
		body["lora_config"] = map[string]any{"rank": 4, "seed": 3}
		body["optimizer_config"] = map[string]any{"type": "dimuon", "version": 1}
		if ids[i] = r.result(r.promise("/create_model", body))["model_id"].(string); ids[i] == "" {
			t.Fatal("no model")
		}
	}
	train := func(m string, from int64) string {
		t.Helper()
		var last string
		for seq := from; seq < from+4; seq += 2 {
			b, err := wire.DecodeForwardBackward(batch(m, seq, false))
			if err != nil {
				t.Fatal(err)
			}
			last = bits(r.output(r.promise("/forward_backward", wire.EncodeForwardBackward(b))))
			r.result(r.promise("/optim_step", map[string]any{"model_id": m, "seq_id": seq + 1,
				"optimizer_params": map[string]any{"type": "dimuon", "learning_rate": 0.05, "beta1": 0.9,
					"grad_clip_norm": 0.0}}))
		}
		return last
	}
	train(ids[0], 1)
	want := train(ids[0], 5)
	train(ids[1], 1)
	r.restart()
	if got := train(ids[1], 5); got != want {
		t.Error("after a restart: other bits")
	}
}
