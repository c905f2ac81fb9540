package reward

import (
	"math"
	"strings"
	"testing"
)

// The values of upstream's formula, and upstream's readings of odd responses.
func TestRLCR(t *testing.T) {
	const chain = "<think>t</think>\n<answer>4</answer> <analysis>a</analysis>\n<confidence>"
	of := func(q string) string { return chain + q + "</confidence>\n" }
	for _, tt := range []struct {
		response, truth string
		want            float64
	}{
		{of("0.8"), "4", 1.480008},
		{of(" .8 "), "5", .680008},
		{of("1"), "4", 1.50002},
		{of("0"), "5", 1.00001},
		{of("0"), "", .50001}, // nothing to verify with
		{"It is 4. <confidence>0.7</confidence>", "4", 7e-6},
		{of("0.7") + "and more", "4", 7e-6},
		{strings.Replace(of("0.7"), "</think>", "</think> so", 1), "4", 7e-6},
		{strings.Replace(of("0.7"), "t</think>", "<answer>4</answer></think>", 1), "4", 7e-6},
		{"<think>first</think> no, again: " + of("0.8"), "4", 1.480008},
		{of("0.8") + of("0.7"), "4", .5 + .5 + .5*(1-.09) + 7e-6},
		{of("1.1"), "4", 0}, {of("nan"), "4", 0}, {of("0x1p-1"), "4", 0}, {of(""), "4", 0}, {"", "4", 0},
		{"</confidence> <confidence>0.7", "4", 0},
		{"<confidence><think>0.7</confidence>", "4", 0},
	} {
		got, err := RLCR(Sample{Response: tt.response, Truth: tt.truth})
		if err != nil || math.Abs(got.Total()-tt.want) > 1e-12 || len(got) != 5 {
			t.Errorf("%q for %q: %v, %v; want %v in all", tt.response, tt.truth, got, err, tt.want)
		}
	}
	weights := func(format any) map[string]any {
		return map[string]any{"weights": map[string]any{"format": format, "accuracy": 2, "brier": 0.0,
			"mean_confidence": 0.0, "confidence_one_or_zero": 0.0}}
	}
	got, err := RLCR(Sample{Response: of("0.8"), Truth: "4", Args: weights(0.25)})
	if err != nil || got.Total() != 2.25 {
		t.Errorf("with other weights: %v, %v", got, err)
	}
	for want, args := range map[string]map[string]any{
		"must be a number":  weights("0.5"),
		"format is true":    weights(true),
		"must be finite":    weights(math.Inf(1)),
		"exactly accuracy,": {"weights": map[string]any{"format": 1.0}},
	} {
		if _, err := RLCR(Sample{Args: args}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", args, err, want)
		}
	}
}
