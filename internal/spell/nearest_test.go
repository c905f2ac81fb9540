package spell

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"clip_range", "clip_range_low", "clip_range_high", "mu"}
	for word, want := range map[string]string{
		"clip_rang": "clip_range", "cliprange": "clip_range", "clip_range_hi": "clip_range_high",
		"Clip_Range": "clip_range", "nu": "mu", "epsilon": "", "": "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
