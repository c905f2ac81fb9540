package algorithm

import (
	"math"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

func TestEveryRowBuilds(t *testing.T) {
	for name := range recipe.All() {
		if _, err := New(Choice{Type: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNew(t *testing.T) {
	m, err := New(Choice{Type: "grpo"})
	if err != nil {
		t.Fatal(err)
	}
	if m.SampleStrategy.Name != "default" || m.Schema != "experience" || m.Objective.Aggregation != TokenMean ||
		!m.Objective.Needs().Ref || m.Objective.KL.Coef != 0.001 {
		t.Errorf("grpo = %+v", m)
	}
	if m, err = New(Choice{Type: "grpo", KLLossArgs: Args{"kl_coef": 0.0}}); err != nil || m.Objective.Needs().Ref {
		t.Errorf("with kl_coef 0 the reference is needed: %v, %v", m.Objective.Needs().Ref, err)
	}
	if m, err = New(Choice{Type: "sft"}); err != nil || m.Advantage != nil || m.Objective.Needs().Ref {
		t.Errorf("sft = %+v, %v", m, err)
	}
	m, err = New(Choice{Type: "grpo", PolicyLossArgs: Args{"loss_agg_mode": "seq-mean-token-sum", "clip_range": 0.3}})
	if err != nil || m.Objective.Aggregation != SeqMeanTokenSum {
		t.Errorf("loss_agg_mode among the arguments gives %v, %v", m, err)
	}
	m, err = New(Choice{Type: "grpo", AggregationMode: "seq-mean-token-mean",
		PolicyLossArgs: Args{"loss_agg_mode": nil}})
	if err != nil || m.Objective.Aggregation != SeqMeanTokenMean {
		t.Errorf("loss_agg_mode null among the arguments gives %v, %v", m, err)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := map[string]Choice{
		`algorithm_type "grop" is not known; it is one of [asymre cispo cpt dapo dpo gigpo`: {Type: "grop"},
		`advantage_fn "gae" is not known; it is one of [asymre asymre_verl clipb`: {Type: "grpo",
			Advantage: "gae"},
		`kl_loss_fn "k4" is not known`:      {Type: "grpo", KLLoss: "k4"},
		`loss_agg_mode "mean" is not known`: {Type: "grpo", AggregationMode: "mean"},
		`keep only loss_agg_mode`: {Type: "grpo", AggregationMode: "token-mean",
			PolicyLossArgs: Args{"loss_agg_mode": "seq-mean-token-sum"}},
		`kl_penalty_fn "k2" changes rewards in the trainer, where advantage_fn "grpo" is already computed`: {
			Type: "grpo", KLPenalty: "k2"},
		`sample_strategy "most" is not known; it is one of [default mix staleness_control warmup]`: {
			Type: "grpo", SampleStrategy: "most"},
		`sample_strategy_args of mix: expert_ratio is not an argument`: {
			Type: "mix", SampleArgs: Args{"expert_ratio": 0.1}},
		`kl_loss_fn_args of k2: coef is not an argument; there are kl_coef`: {
			Type: "grpo", KLLossArgs: Args{"coef": 1.0}},
		`adaptive is true, but target_kl or horizon is missing`: {
			Type: "grpo", KLLossArgs: Args{"adaptive": true, "target_kl": 0.1}},
	}
	for want, c := range tests {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v\nwant %q in it", err, want)
		}
	}
}

func TestSchedule(t *testing.T) {
	tests := []struct {
		name   string
		warmup int
		ratio  float64
		min    float64
		total  int
		kind   string
		want   map[int]float64
	}{
		{"constant", -1, 0, 0.01, 0, "constant", map[int]float64{1: 1, 1000: 1}},
		{"warm-up from the floor", 10, 0, 0.5, 100, "constant", map[int]float64{1: 0.55, 5: 0.75, 9: 0.95, 10: 1, 99: 1,
			100: 1, 200: 1}},
		{"warm-up by ratio", -1, 0.1, 0, 100, "constant", map[int]float64{5: 0.5, 10: 1}},
		{"cosine", 10, 0, 0.01, 100, "cosine", map[int]float64{10: 1, 55: 0.505, 100: 0.01, 500: 0.01}},
		{"warm-up as long as a cosine run", 10, 0, 0.01, 10, "cosine", map[int]float64{1: 0.109, 9: 0.901, 10: 1,
			11: 0.01}},
		{"warm-up as long as a constant run", -1, 1, 0.01, 10, "constant", map[int]float64{1: 0.109, 9: 0.901, 10: 1,
			11: 1}},
		{"warm-up longer than a cosine run", 20, 0, 0, 10, "cosine", map[int]float64{1: 0.05, 10: 0.5, 19: 0.95,
			20: 1}},
		{"cosine of one step", 0, 0, 0.01, 1, "cosine", map[int]float64{1: 0.01}},
		{"cosine without warm-up", 0, 0, 0, 100, "cosine", map[int]float64{1: (1 + math.Cos(math.Pi/100)) / 2, 50: 0.5,
			100: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewSchedule(2, tt.min, tt.warmup, tt.ratio, tt.total, tt.kind)
			if err != nil {
				t.Fatal(err)
			}
			for step, want := range tt.want {
				if got := s.At(step); math.Abs(got-2*want) > 1e-12 {
					t.Errorf("step %d: %v, want %v", step, got, 2*want)
				}
			}
		})
	}
}

func TestScheduleRefuses(t *testing.T) {
	for want, f := range map[string]func() (Schedule, error){
		`"linear" is not known`: func() (Schedule,
			error) {
			return NewSchedule(1, 0, 0, 0, 10, "linear")
		},
		"min_lr_ratio is 2": func() (Schedule,
			error) {
			return NewSchedule(1, 2, 0, 0, 10, "constant")
		},
		"set it, or give lr_warmup_steps": func() (Schedule,
			error) {
			return NewSchedule(1, 0, -1, 0.1, 0, "constant")
		},
		"set it, or use constant": func() (Schedule,
			error) {
			return NewSchedule(1, 0, 0, 0, 0, "cosine")
		},
		"lr_warmup_steps_ratio is 1.5; it must": func() (Schedule,
			error) {
			return NewSchedule(1, 0, -1, 1.5, 10, "constant")
		},
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}
