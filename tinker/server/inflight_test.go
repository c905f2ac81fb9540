package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// publisher is a training run that publishes weights.
type publisher struct {
	*rig
	model    string
	seq      int64
	sessions int
}

// save saves the weights for a sampler of a kind and returns its sampling session.
func (p *publisher) save(kind string) string {
	p.t.Helper()
	p.seq++
	p.sessions++
	return p.result(p.promise("/save_weights_for_sampler", map[string]any{"model_id": p.model, "seq_id": p.seq,
		"sampling_session_seq_id": p.sessions, "kind": kind}))["sampling_session_id"].(string)
}

func (p *publisher) train() {
	p.t.Helper()
	p.output(p.promise("/forward_backward", batch(p.model, p.seq+1, false)))
	p.result(p.promise("/optim_step", step(p.model, p.seq+2)))
	p.seq += 2
}

// path is the checkpoint of a save.
func (p *publisher) path(seq int64) string {
	return fmt.Sprintf("tinker://%s/sampler_weights/%s%d", p.model, checkpoint.UnnamedPrefix, seq)
}

// long is a request whose samples take a while.
func long(sampler string, seq int64) map[string]any {
	return asample(sampler, seq, map[string]any{"num_samples": 48,
		"sampling_params": map[string]any{"max_tokens": 400, "seed": 5, "stop": []int{}}})
}

// noted waits until a running request has so many versions of its first sample, and returns those of all.
func (p *publisher) noted(sampler string, n int) (list [][]tinker.Version) {
	p.t.Helper()
	eventually(p.t, func() string {
		p.server.state.Lock()
		defer p.server.state.Unlock()
		q := p.server.state.Samples[state.SampleKey{Sampler: sampler}]
		if !q.Finished.IsZero() {
			p.t.Fatal("the request has ended")
		}
		list = nil
		for _, v := range q.Versions {
			list = append(list, slices.Clone(v))
		}
		return unless(slices.ContainsFunc(list, func(v []tinker.Version) bool { return len(v) >= n }), "no version")
	})
	return list
}

func versionsOf(r tinker.SampleResponse) (list [][]tinker.Version) {
	for _, q := range r.Sequences {
		list = append(list, q.Versions)
	}
	return list
}

// An answer under way moves to weights that are published with kind inflight, and says so. A snapshot beside it stays,
// and so does its tenant's alone.
func TestInflightSampler(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	p := &publisher{rig: r, model: r.model(r.session(), 0)}
	a, still := p.save("inflight"), p.save("snapshot")
	first := p.path(1)
	before := r.samples(r.promise("/asample", long(still, 0)))
	id := r.promise("/asample", long(a, 0))
	p.noted(a, 1)
	p.train()
	b := p.save("inflight")
	second := p.path(p.seq)
	moved := r.samples(id)
	changed := 0
	for i, v := range versionsOf(moved) {
		if v[0].Path != first && v[0].Path != second || len(v) > 2 || len(v) == 2 && v[1].Path != second {
			t.Errorf("sample %d: %v", i, v)
		}
		changed += len(v) - 1
	}
	if changed == 0 || moved.Sequences[0].Versions[0].Path != first {
		t.Errorf("no answer changed its weights: %v", versionsOf(moved))
	}
	again := r.samples(r.promise("/asample", long(still, 1)))
	if fmt.Sprint(again.Sequences) != fmt.Sprint(before.Sequences) || again.Sequences[0].Versions != nil {
		t.Error("the snapshot beside it has changed")
	}
	for _, sampler := range []string{a, b} {
		eventually(t, func() string {
			got := r.samples(r.promise("/asample", asample(sampler, p.next(), nil))).Sequences[0].Versions
			return unless(slices.Equal(got, []tinker.Version{{Path: second}}), fmt.Sprint(got))
		})
	}
	if code, _, raw := r.as("tml-bob").send("POST", wire.Prefix+"/asample", asample(a, 9, nil)); code != 404 {
		t.Errorf("another tenant's sample: %d %s", code, raw)
	}
	named := map[string]any{"model_id": p.model, "seq_id": p.seq + 1, "path": "x", "kind": "inflight"}
	text, _ := r.failure(r.promise("/save_weights_for_sampler", named))
	if !strings.Contains(text, "sampling session") {
		t.Errorf("a named in-flight save: %s", text)
	}
	r.settled(t)
}

func (p *publisher) next() int64 { p.sessions++; return int64(p.sessions) + 100 }

// A request that the end of a process interrupts keeps the weights that were noted for its tokens. A lost answer is
// drawn again to the same bits.
func TestInflightRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	p := &publisher{rig: r, model: r.model(r.session(), 0)}
	a := p.save("inflight")
	id := r.promise("/asample", long(a, 0))
	p.noted(a, 1)
	p.train()
	p.save("inflight")
	noted := p.noted(a, 2)
	r.restart()
	p.train()
	p.save("inflight") // does not change the weights that are noted
	got := r.samples(id)
	for i, v := range noted { // what had not moved may move later
		if again := got.Sequences[i].Versions; !slices.Equal(again[:min(len(v), len(again))], v) {
			t.Errorf("sample %d had %v, drawn again %v", i, v, got.Sequences[i].Versions)
		}
	}
	want := wire.EncodeSample(got)

	r.server.state.Lock()
	q := r.server.state.Samples[state.SampleKey{Sampler: a}]
	q.Finished, q.Result, q.Request = time.Time{}, state.SampleResult{}, mustJSON(t, long(a, 0))
	q.Versions = versionsOf(got)
	if err := r.server.state.Compact(); err != nil { // as if the result had never been written
		t.Fatal(err)
	}
	r.server.state.Unlock()
	r.restart()
	if again := wire.EncodeSample(r.samples(id)); string(again) != string(want) {
		t.Error("the lost answer is another one now")
	}
	// a sampler of the first weights is at the latest after a restart
	last := r.samples(r.promise("/asample", asample(a, 7, nil))).Sequences[0].Versions
	if !slices.Equal(last, []tinker.Version{{Path: p.path(p.seq)}}) {
		t.Errorf("after a restart the sampler has %v", last)
	}
	if code, _, _ := r.send("GET", wire.Prefix+"/samplers/"+a, nil); code != http.StatusOK {
		t.Errorf("GET samplers: %d", code)
	}
}
