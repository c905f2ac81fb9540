package trainer

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// newCritic is a critic with 11 values from -1 to 1 over the shipped model.
func newCritic(t *testing.T) *critic {
	t.Helper()
	seed := uint64(1)
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Models: map[string]engine.Model{
		"tiny": {Dir: "../../examples/tiny/model"}}, Seed: &seed, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	client, err := e.CreateModel(t.Context(), tinker.CreateModelRequest{BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 8, Alpha: 32, Seed: new(int64), TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int32, 11)
	for k := range ids {
		ids[k] = int32(20 + k)
	}
	head, err := algorithm.NewCritic(algorithm.Critic{Tokens: ids, Low: -1, High: 1, Sigma: 0.75})
	if err != nil {
		t.Fatal(err)
	}
	return &critic{Critic: head, rate: 0.5, client: client, seq: 1,
		keep: priorFile{disk.OS(), filepath.Join(t.TempDir(), "prior.json")}}
}

func mse(values [][]float32, batch []*experience.Experience) float64 {
	sum, n := 0.0, 0
	for i, e := range batch {
		for k, keep := range e.ActionMask {
			if keep {
				d := float64(values[i][k]) - float64(e.Returns[k])
				sum, n = sum+d*d, n+1
			}
		}
	}
	return sum / float64(n)
}

// The critic learns returns that differ between prompts and along a response, and a token outside the mask teaches
// nothing.
func TestCriticLearnsReturns(t *testing.T) {
	c := newCritic(t)
	first, second := sample(0, -1, -1), sample(0, -1, -1)
	second.Tokens = []int32{90, 91, 92, 93, 94}
	first.Returns, second.Returns = []float32{0.8, 0.2}, []float32{-0.6, 99}
	second.ActionMask[1] = false
	batch := []*experience.Experience{first, second}
	adam := tinker.DefaultAdam()
	adam.LearningRate = 0.004
	before, err := c.values(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	entropy := 0.0
	for range 150 {
		v, err := c.values(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		wait, err := c.train(t.Context(), adam, batch, v.logprobs)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		entropy = m["critic/cross_entropy"]
		if m["critic/lr"] != 0.002 {
			t.Fatalf("critic/lr = %v, want half the actor's", m["critic/lr"])
		}
	}
	after, err := c.values(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if was, is := mse(before.values, batch), mse(after.values, batch); is > 0.02 || is > was/4 {
		t.Errorf("the mean squared error went from %v to %v; values %v", was, is, after.values)
	}
	for _, v := range after.values[1] {
		if math.Abs(float64(v)) > 1 {
			t.Errorf("value %v lies outside the critic's range", v)
		}
	}
	if entropy <= 0 || entropy > 3 {
		t.Errorf("cross entropy = %v, want about that of the targets", entropy)
	}
	if info, err := c.client.Info(t.Context()); err != nil || info.NextSeqID != c.seq {
		t.Errorf("the critic is at request %d (%v), the caller thinks %d", info.NextSeqID, err, c.seq)
	}
}

// Values are read where the response's tokens are predicted: the value before the first one knows the prompt only.
func TestValuesComeBeforeTheirTokens(t *testing.T) {
	c := newCritic(t)
	one, other := sample(0, -1, -1), sample(0, -1, -1)
	other.Tokens[4] = 99 // the last token
	v, err := c.values(t.Context(), []*experience.Experience{one, other})
	if err != nil || len(v.values[0]) != 2 || len(v.logprobs[0]) != 22 {
		t.Fatal(v, err)
	}
	a, b := v.values[0], v.values[1]
	if a[0] != b[0] || a[1] != b[1] {
		t.Errorf("values %v and %v, want the same: the last token comes after both", a, b)
	}
	other.Tokens[3] = 99
	w, err := c.values(t.Context(), []*experience.Experience{other})
	if err != nil || w.values[0][0] != b[0] || w.values[0][1] == b[1] {
		t.Errorf("values %v after another first token, were %v: only the second may differ (%v)", w.values, b, err)
	}
}

func TestCriticProbesAtTheStart(t *testing.T) {
	c := newCritic(t)
	if err := c.probe(t.Context()); err != nil || c.seq != 2 {
		t.Errorf("probe: %v, next request %d", err, c.seq)
	}
	c.Tokens[3] = 1 << 20 // the model has no such token
	if err := c.probe(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "needs cross_entropy with 11 targets a position, which the service refuses") {
		t.Errorf("error = %v", err)
	}
}
