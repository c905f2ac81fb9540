package spell

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"clip_range", "clip_range_low", "clip_range_high", "mu"}
	for word, want := range map[string]string{
		"clip_rang": "clip_range", "cliprange": "clip_range", "clip_range_hi": "clip_range_high",
		"Clip_Range": "clip_range", "nu": "mu", "epsilon": "", "": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestUnknownArgument(t *testing.T) {
	for want, got := range map[string]*Argument{
		"nu is not an argument; did you mean mu?; there are mu, tau": UnknownArgument("nu", []string{"mu", "tau"}),
		"weight is not an argument; there are mu, tau":               UnknownArgument("weight", []string{"mu", "tau"}),
		"mu is not an argument; there are none":                      UnknownArgument("mu", nil),
	} {
		if got.Error() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
