package trainer

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sample is a response of two tokens to a prompt of three, sampled by a version.
func sample(version int, logprobs ...float32) *experience.Experience {
	e := experience.Turn{Prompt: []int32{1, 2, 3}, Response: []int32{4, 5}, Logprobs: logprobs}.Experience(
		experience.EID{Batch: "1", Task: "0"})
	e.Info.ModelVersion = version
	e.SetReward(1)
	e.Advantages, e.Returns = []float32{2, 2}, []float32{2, 2}
	return e
}

func grpo(t *testing.T) *algorithm.Method {
	t.Helper()
	m, err := algorithm.New(algorithm.Choice{Type: "grpo", KLLossArgs: algorithm.Args{"kl_coef": 0.0}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDatumLayout(t *testing.T) {
	list, err := data([]*experience.Experience{sample(0, -1, -1)})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d datums, %v", len(list), err)
	}
	d := list[0]
	in, _ := d.ModelInput.Tokens()
	if got, want := in, []int32{1, 2, 3, 4}; len(got) != 4 || got[3] != want[3] {
		t.Errorf("input %v, want %v", got, want)
	}
	if got := d.LossFnInputs[tinker.TargetTokens].Int; len(got) != 4 || got[0] != 2 || got[3] != 5 {
		t.Errorf("targets %v, want [2 3 4 5]", got)
	}
	e := sample(0, -1, -1)
	e.PromptLength, e.Tokens = 0, e.Tokens[3:]
	if _, err := data([]*experience.Experience{e}); err == nil {
		t.Error("a datum without a prompt is not an error")
	}
}

// On policy the gradient of GRPO's loss is −A/(R·n) at each response token and 0 at the prompt's.
func TestGradientIsLaidOverThePrompt(t *testing.T) {
	tr := &Trainer{Options: Options{Method: grpo(t)}, exact: true}
	batch := []*experience.Experience{sample(6, -1, -2), sample(6, -3, -4)}
	known, onPolicy := tr.knownLogprobs(7, batch)
	if known == nil || !onPolicy[0] || !onPolicy[1] {
		t.Fatalf("known %v, on policy %v: the present weights sampled them", known, onPolicy)
	}
	grad, _, err := tr.gradient(7, batch, known, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range grad {
		for j, want := range []float32{0, 0, -0.5, -0.5} {
			if math.Abs(float64(g[j]-want)) > 1e-6 {
				t.Errorf("experience %d: gradient %v, want [0 0 -0.5 -0.5]", i, g)
				break
			}
		}
	}
}

func TestForwardIsLeftOutOnlyOnPolicy(t *testing.T) {
	for _, tt := range []struct {
		name    string
		exact   bool
		version int
		want    bool
	}{{"on policy", true, 6, true}, {"stale", true, 5, false}, {"a service that promises nothing", false, 6, false}} {
		tr := &Trainer{Options: Options{Method: grpo(t)}, exact: tt.exact}
		known, _ := tr.knownLogprobs(7, []*experience.Experience{sample(tt.version, -1, -2)})
		if (known != nil) != tt.want {
			t.Errorf("%s: left out %v, want %v", tt.name, known != nil, tt.want)
		}
	}
}

// Methods whose gradient does not depend on the logprobs never need the forward; sft_is does.
func TestForwardIsLeftOutWhereTheGradientIsConstant(t *testing.T) {
	for loss, want := range map[string]bool{"sft": true, "opmd": true, "sft_is": false} {
		m, err := algorithm.New(algorithm.Choice{Type: "sft", PolicyLoss: loss})
		if err != nil {
			t.Fatal(err)
		}
		tr := &Trainer{Options: Options{Method: m}}
		if known, _ := tr.knownLogprobs(7, []*experience.Experience{sample(2, -1, -2)}); (known != nil) != want {
			t.Errorf("%s: left out %v, want %v", loss, known != nil, want)
		}
	}
}

func TestSequencesCarryStepAndExpert(t *testing.T) {
	e := sample(6, -1, -2)
	e.Info.IsExpert = true
	s := sequences(7, []*experience.Experience{e}, [][]float32{{0, 0, -3, -4}}, nil)[0]
	if s.Step != 7 || !s.Expert || s.Logprobs[0] != -3 || s.Old[1] != -2 {
		t.Errorf("sequence = %+v", s)
	}
}

func TestOneBitIsNoticed(t *testing.T) {
	e := sample(6, -1, -2)
	trained := [][]float32{{-9, -9, -1, -2}}
	if _, err := checkExact([]*experience.Experience{e}, []bool{true}, nil, trained); err != nil {
		t.Errorf("equal bits: %v", err)
	}
	trained[0][3] = math.Nextafter32(-2, 0)
	_, err := checkExact([]*experience.Experience{e}, []bool{true}, nil, trained)
	if err == nil || !strings.Contains(err.Error(), "token 1 of sample") ||
		!strings.Contains(err.Error(), "version 6") {
		t.Errorf("one bit off: %v", err)
	}
	if _, err := checkExact([]*experience.Experience{e}, []bool{false}, nil, trained); err != nil {
		t.Errorf("a stale sample is not compared: %v", err)
	}
}

func TestReadState(t *testing.T) {
	dir := t.TempDir()
	if s, err := ReadState(dir, "trainer"); err != nil || s.Step != 0 || s.NextSeqID != 1 {
		t.Errorf("a new job: %+v, %v", s, err)
	}
	path := filepath.Join(dir, "trainer_meta.json")
	for text, want := range map[string]string{
		`{"latest_iteration": 4, "next_seq_id": 13}`: "",
		`{"latest_iteration": `:                      path,
		`{"latest_iteration": -2}`:                   "step -2",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := ReadState(dir, "trainer")
		if want == "" && (err != nil || s.Step != 4 || s.NextSeqID != 13) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}
