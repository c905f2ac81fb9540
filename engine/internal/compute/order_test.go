package compute

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// One tenant has ten models with endless requests, another two, and a third one model that comes late. Tenants take
// turns by tokens, and so do the models of a tenant; the late one begins at the share of the others.
func TestTrainingIsFair(t *testing.T) {
	tr := newLoop(t, 1) // one job per pass
	next := func(m *Member, tokens int) {
		if !m.present {
			tr.shares.Enter(m.share)
			m.present = true
		}
		tr.jobs = append(tr.jobs, &job{m: m, microBatch: microBatch{tokens: tokens}, alone: func() {},
			done: make(chan struct{})})
	}
	model := func(owner string, tokens int) {
		next(NewMember(owner+fmt.Sprint(len(tr.jobs)), owner, false), tokens)
	}
	for range 10 {
		model("a", 9)
	}
	model("b", 9)
	model("b", 19)
	var order []string
	for i := range 60 {
		if i == 40 {
			model("c", 9)
		}
		j := tr.choose()[0]
		order = append(order, j.m.ID)
		tr.finish([]*job{j})
		tr.settle(j.m)
		next(j.m, j.tokens)
	}
	want := strings.Fields("a0 b10 a1 b11 a2 a3 b10 a4 b10 a5 b11 a6 a7 b10 a8 b10 a9 b11 a0 a1 b10")
	if got := order[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("models had their turns in the order\n%v, want\n%v", got, want)
	}
	if late := order[40:46]; !slices.Contains(late[:3], "c12") ||
		strings.Count(strings.Join(order[40:], " "), "c12") > 8 {
		t.Errorf("after the late one's coming: %v", order[40:])
	}
}

// newLoop returns a loop whose passes have so many tokens.
func newLoop(t *testing.T, microBatch int) *Loop {
	k, _ := kernel.Best(kernel.Native())
	pool, g := kernel.NewPool(1), lifetime.New()
	t.Cleanup(func() { g.Close(); g.Wait(); pool.Close() })
	return New(Options{Compute: nn.Compute{K: k, P: pool}, Turn: &fair.Turn{}, Group: g,
		Limits: Limits{MicroBatch: microBatch}})
}

// A run whose next job takes long to come does not delay the others.
func TestLongPauseHoldsNobodyUp(t *testing.T) {
	l := newLoop(t, 2048)
	pause := func(n int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.coming += n
		l.changed.Signal()
	}
	pause(1) // as if a job were here in a moment
	defer pause(-1)
	ran := false
	m := NewMember("m", "", false)
	if err := l.Alone(m, func() { ran = true }); err != nil || !ran {
		t.Errorf("the job ran: %v, %v", ran, err)
	}
	l.Idle(m)
}
