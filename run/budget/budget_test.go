package budget

import (
	"testing"
	"time"
)

func TestStepTime(t *testing.T) {
	b := Budget{Steps: 10, Samples: 1, MaxSampled: 1000, MaxTrained: 3000, Rates: Rates{Sampled: 500, Trained: 1500}}
	if got := b.maxStepTime(); got != 4*time.Second {
		t.Errorf("MaxStepTime() = %v, want 2 s of sampling and 2 s of training", got)
	}
	if got := b.StepTime(); got != 0 {
		t.Errorf("StepTime() = %v without means, want 0", got)
	}
	b.Sampled, b.Trained = 250, 750
	if got := b.StepTime(); got != time.Second {
		t.Errorf("StepTime() = %v, want half a second of each", got)
	}
	b.Rates = Rates{}
	if got := b.StepTime(); got != 0 {
		t.Errorf("StepTime() = %v without rates, want 0", got)
	}
}

func TestRoundTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1234 * time.Millisecond: "1.2s", 83*time.Second + 400*time.Millisecond: "1m23s",
		3*time.Hour + 4*time.Minute + 29*time.Second: "3h4m0s", 31 * 24 * time.Hour: "31 days",
	} {
		if got := roundTime(d); got != want {
			t.Errorf("roundTime(%v) = %s, want %s", d, got, want)
		}
	}
}
