package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// One tenant has ten models with endless requests, another two, and a third one model that comes late. Tenants take
// turns by tokens, and so do the models of a tenant; the late one begins at the share of the others.
func TestTrainingIsFair(t *testing.T) {
	k, _ := kernel.Best(kernel.Native())
	pool := kernel.NewPool(1)
	defer pool.Close()
	tr := newComputeLoop(loopOptions{compute: nn.Compute{K: k, P: pool}, turn: &turn{}, group: newGroup(),
		limits: limits{microBatch: 1}}) // one job per pass
	next := func(m *member, tokens int) {
		if !m.present {
			tr.shares.enter(m.share)
			m.present = true
		}
		tr.jobs = append(tr.jobs, &job{m: m, microBatch: microBatch{tokens: tokens}, alone: func() {},
			done: make(chan struct{})})
	}
	model := func(owner string, tokens int) {
		next(newMember(owner+fmt.Sprint(len(tr.jobs)), owner, false), tokens)
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
		order = append(order, j.m.id)
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
