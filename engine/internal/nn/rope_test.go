package nn

import (
	"math"
	"strings"
	"testing"
)

// Llama 3's scaling leaves short wavelengths, divides long ones and joins the two without a step. The numbers between
// are checked against transformers in package model.
func TestLlama3Frequencies(t *testing.T) {
	s := &Llama3Scaling{Factor: 8, LowFactor: 1, HighFactor: 4, OriginalMax: 8192}
	plain := RoPEConfig{Dim: 128, Theta: 500000}.frequencies()
	scaled := RoPEConfig{Dim: 128, Theta: 500000, Llama3: s}.frequencies()
	for i, f := range plain {
		wave, ratio := 2*math.Pi/float64(f), float64(scaled[i])/float64(f)
		switch {
		case wave < 2048 && ratio != 1:
			t.Errorf("pair %d of wavelength %.0f is scaled by %v, want 1", i, wave, ratio)
		case wave > 8192 && ratio != 0.125:
			t.Errorf("pair %d of wavelength %.0f is scaled by %v, want 1/8", i, wave, ratio)
		case ratio < 0.125 || ratio > 1:
			t.Errorf("pair %d of wavelength %.0f is scaled by %v", i, wave, ratio)
		}
	}
	if got := (RoPEConfig{Dim: 4, Theta: 100, Linear: 4}).frequencies(); got[0] != 0.25 || got[1] != 0.025 {
		t.Errorf("linear scaling by 4 gives %v, want [0.25 0.025]", got)
	}
}

func TestRoPECheck(t *testing.T) {
	for _, c := range []RoPEConfig{{Linear: -1}, {Llama3: &Llama3Scaling{Factor: 8}},
		{Llama3: &Llama3Scaling{8, 4, 1, 8192}}} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), "rope") {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
