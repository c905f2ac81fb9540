package run

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
)

// A run whose answers do not end says so, and to adapt the head where the adapter leaves it.
func TestEndless(t *testing.T) {
	whole, head, below := config.LoRA{}, config.LoRA{Rank: 8, TrainUnembed: true}, config.LoRA{Rank: 8, TrainAttn: true}
	for _, tt := range []struct {
		name   string
		lora   config.LoRA
		ending trainer.Ending
		want   []string // none: nothing is said
	}{
		{"learned", below, trainer.Ending{Examples: 16, Probability: 0.9}, nil},
		{"nothing known", below, trainer.Ending{}, nil},
		{"SFT below the head", below, trainer.Ending{Examples: 16, Probability: 0.0588},
			[]string{"a probability of 0.0588", "model.tinker.train_unembed: true", "lm_head"}},
		{"SFT with the head", head, trainer.Ending{Examples: 16, Probability: 0.2},
			[]string{"0.2", "train more steps"}},
		{"most are cut", below, trainer.Ending{Sampled: 128, Cut: 116},
			[]string{"116 of the 128 answers", "model.tinker.train_unembed: true", "max_response_tokens"}},
		{"most are cut, all weights", whole, trainer.Ending{Sampled: 8, Cut: 5},
			[]string{"5 of the 8", "max_response_tokens"}},
		{"half is cut", below, trainer.Ending{Sampled: 8, Cut: 4}, nil},
	} {
		got := endless(tt.lora, tt.ending)
		if len(tt.want) == 0 && got != "" {
			t.Errorf("%s: %s", tt.name, got)
		}
		for _, word := range tt.want {
			if !strings.Contains(got, word) {
				t.Errorf("%s: %q lacks %q", tt.name, got, word)
			}
		}
	}
}
