package trainer

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

func TestAdaptiveCoefficientsAreState(t *testing.T) {
	m, err := algorithm.New(algorithm.Choice{Type: "rloo", KLPenalty: "k1",
		KLPenaltyArgs: algorithm.Args{"kl_coef": 0.5, "adaptive": true, "target_kl": 0.1, "horizon": 100}})
	if err != nil {
		t.Fatal(err)
	}
	tr := New(Options{Method: m}, nil, nil, nil, State{})
	tr.adapt(10, map[string]float64{"actor/kl_loss": 9, "advantage/kl": 9})
	got := tr.coefs()
	if math.Abs(got.Penalty-0.51) > 1e-12 || got.Loss != 0.001 || m.Penalty.Coef != 0.5 {
		t.Errorf("coefficients %+v of a copy of %v, want a penalty of 0.51 and the loss's 0.001", got, m.Penalty.Coef)
	}
	again := New(Options{Method: m}, nil, nil, nil, State{KLCoefs: got})
	if again.coefs() != got {
		t.Errorf("after a restart %+v, want %+v", again.coefs(), got)
	}
	if back := (State{SavedKLCoefs: got}).Back(); back.KLCoefs != got || back.SavedKLCoefs != got {
		t.Errorf("turned back: %+v", back)
	}
}

// A method that does not adapt leaves no trace in the state file.
func TestFixedCoefficientsAreNoState(t *testing.T) {
	tr := New(Options{Method: grpo(t)}, nil, nil, nil, State{})
	tr.adapt(10, map[string]float64{"actor/kl_loss": 9})
	data, err := json.Marshal(State{KLCoefs: tr.coefs()})
	if err != nil || string(data) != `{"latest_iteration":0,"latest_saved":0,"next_seq_id":0,"model_id":"",`+
		`"sample_strategy_state":{"step":0,"count":0}}` {
		t.Errorf("state file %s, %v", data, err)
	}
}
