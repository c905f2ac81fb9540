package algorithm

import (
	"bufio"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// upstreamCase is a line of what testdata/upstream.py writes.
type upstreamCase struct {
	Kind, Name  string
	Args        Args
	Aggregation Aggregation

	Logprobs, Old, Ref, Entropy, Advantages [][]float32
	Mask                                    [][]bool
	Expert                                  []bool
	Step                                    int

	Value    float64
	Gradient [][]float64
	Metrics  map[string]float64
}

// worst is the largest difference of what was compared, relative to numbers above 1, and how much was compared.
type worst struct {
	off     float64
	numbers int
}

func (w *worst) compare(got, want float64) {
	w.numbers++
	if off := math.Abs(got-want) / max(1, math.Abs(want)); !(off <= w.off) {
		w.off = off
	}
}

func (w *worst) rows(got, want [][]float64) {
	for i, row := range want {
		for k, v := range row {
			w.compare(got[i][k], v)
		}
	}
}

// TestUpstream compares losses with their gradients, advantages and metrics with Trinity-RFT's own, on the cases of
// testdata/upstream.py that make bench NAME=losses writes.
func TestUpstream(t *testing.T) {
	path := os.Getenv("TRINITY_TEST_LOSSES")
	if path == "" {
		t.Skip("TRINITY_TEST_LOSSES does not name the cases; make bench NAME=losses makes them")
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	found, cases := map[string]*worst{}, map[string]int{}
	var names []string
	for n := 1; lines.Scan(); n++ {
		var c upstreamCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		name := c.Kind + " " + c.Name
		if found[name] == nil {
			found[name], names = &worst{}, append(names, name)
		}
		cases[name]++
		var one worst
		switch c.Kind {
		case "early", "late":
			var a upstreamAdvantage
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				t.Fatalf("line %d: %v", n, err)
			}
			a.compare(t, c, &one)
		default:
			c.compare(t, &one)
		}
		if !(one.off <= 1e-5) {
			t.Errorf("line %d: %s %v %s is off by %v", n, name, c.Args, c.Aggregation, one.off)
		}
		found[name].off, found[name].numbers = max(found[name].off, one.off), found[name].numbers+one.numbers
	}
	for _, name := range names {
		t.Logf("%-25s %4d cases, %6d numbers, off by at most %.1g", name, cases[name], found[name].numbers,
			found[name].off)
	}
	if err := lines.Err(); err != nil || len(names) < 41 {
		t.Errorf("%d functions, %v; want all 41", len(names), err)
	}
}

// compare evaluates a loss, a KL or an entropy term.
func (c *upstreamCase) compare(t *testing.T, w *worst) {
	batch := make([]Sequence, len(c.Mask))
	at := func(x [][]float32, i int) []float32 {
		if x == nil {
			return nil
		}
		return x[i]
	}
	for i := range batch {
		batch[i] = Sequence{Logprobs: c.Logprobs[i], Old: at(c.Old, i), Ref: at(c.Ref, i),
			Advantages: at(c.Advantages, i), Entropy: at(c.Entropy, i), Mask: c.Mask[i], Step: c.Step}
		if c.Expert != nil {
			batch[i].Expert = c.Expert[i]
		}
	}
	var got Loss
	switch c.Kind {
	case "loss":
		got = mustPolicy(t, c.Name, c.Args).Loss(batch, c.Aggregation)
	case "kl":
		k, err := build("kl_loss_fn", c.Name, c.Args, KLs())
		if err != nil {
			t.Fatal(err)
		}
		o := Objective{KL: k}
		v, g := o.kl(batch, c.Aggregation)
		got = Loss{k.Coef * v, scaledRows(g, k.Coef), map[string]float64{"kl_loss": v, "kl_coef": k.Coef}}
	case "entropy":
		e, err := build("entropy_loss_fn", c.Name, c.Args, Entropies())
		if err != nil {
			t.Fatal(err)
		}
		o := Objective{Entropy: e}
		v, g := o.entropyOf(batch, c.Aggregation,
			func(s *Sequence, k int) term { return term{float64(s.Entropy[k]), 1} })
		got = Loss{e.Coef * v, scaledRows(g, e.Coef), map[string]float64{"entropy_loss": v}}
	}
	w.compare(got.Value, c.Value)
	w.rows(got.Gradient, c.Gradient)
	c.metrics(t, got.Metrics, w)
}

func scaledRows(rows [][]float64, by float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i := range rows {
		out[i] = shifted(rows[i], 0, by)
	}
	return out
}

// metrics compares those that upstream has.
func (c *upstreamCase) metrics(t *testing.T, got map[string]float64, w *worst) {
	for key, want := range c.Metrics {
		v, ok := got[key]
		if !ok {
			t.Errorf("%s %s has no metric %s", c.Kind, c.Name, key)
		}
		w.compare(v, want)
	}
}

// upstreamAdvantage has the rest of a case of an advantage function.
type upstreamAdvantage struct {
	Experiences []struct {
		Task      string
		Run, Step int
		Reward    float64
		Info      map[string]float64
		Mask      []bool
		Logprobs  []float32
	}
	Kept []struct {
		RID        string
		Step       int
		Advantages []float64
	}

	Tasks                   []string
	Rewards, Baselines      []float64
	Logprobs, Teacher       [][]float32
	Values, Entropy, Centre [][]float32
	Mask, Masked            [][]bool
	Advantages, Returns     [][]float64
}

func (a *upstreamAdvantage) compare(t *testing.T, c upstreamCase, w *worst) {
	if c.Kind == "late" {
		a.late(t, c, w)
		return
	}
	list := make([]*experience.Experience, len(a.Experiences))
	for i, r := range a.Experiences {
		e := &experience.Experience{EID: experience.EID{Batch: "1", Task: r.Task, Run: r.Run, Step: r.Step},
			ActionMask: r.Mask, Logprobs: r.Logprobs, Metrics: r.Info}
		e.SetReward(r.Reward)
		list[i] = e
	}
	fn, err := build("advantage_fn", c.Name, c.Args, Advantages())
	if err != nil {
		t.Fatal(err)
	}
	kept, m, err := fn.Assign(list, rand.New(rand.NewPCG(1, 2)))
	if err != nil || len(kept) != len(a.Kept) {
		t.Errorf("%s %v keeps %d experiences (%v), upstream %d", c.Name, c.Args, len(kept), err, len(a.Kept))
		return
	}
	for i, want := range a.Kept {
		if e := kept[i].EID; e.RID() != want.RID || e.Step != want.Step {
			t.Errorf("%s: experience %d is %s, upstream's %s/%d", c.Name, i, e, want.RID, want.Step)
		}
		w.rows([][]float64{appendFloat64s(nil, kept[i].Advantages)}, [][]float64{want.Advantages})
	}
	c.metrics(t, m, w)
}

func (a *upstreamAdvantage) late(t *testing.T, c upstreamCase, w *worst) {
	list, fetched := make([]*experience.Experience, len(a.Tasks)), make([]Fetched, len(a.Tasks))
	for i := range list {
		list[i] = &experience.Experience{EID: experience.EID{Batch: "1", Task: a.Tasks[i], Suffix: strconv.Itoa(i)},
			ActionMask: a.Mask[i], Logprobs: a.Logprobs[i]}
		list[i].SetReward(a.Rewards[i])
		fetched[i] = Fetched{Teacher: a.Teacher[i], Values: a.Values[i], Entropy: a.Entropy[i], Centre: a.Centre[i],
			Baseline: &a.Baselines[i]}
	}
	fn, err := build("advantage_fn", c.Name, c.Args, LateAdvantages())
	if err != nil {
		t.Fatal(err)
	}
	m := Method{Late: fn}
	metrics, err := m.Score(list, fetched)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		w.rows([][]float64{appendFloat64s(nil, e.Advantages), appendFloat64s(nil, e.Returns)},
			[][]float64{a.Advantages[i], a.Returns[i]})
		for k, keep := range a.Masked[i] {
			w.compare(indicator(e.ActionMask[k]), indicator(keep))
		}
	}
	under := map[string]float64{}
	for key, v := range c.Metrics {
		under["advantage/"+key] = v
	}
	c.Metrics = under
	c.metrics(t, metrics, w)
}
