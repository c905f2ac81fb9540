package disk

import "testing"

func TestPendingKill(t *testing.T) {
	for text, want := range map[string]bool{
		"Threads:\t1\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n": true,
		"SigPnd:\t0000000000000000\nShdPnd:\t0000000000004100\n":              true,
		"SigPnd:\t0000000000004000\nShdPnd:\t0000000000000002\n":              false,
		"": false,
	} {
		if got := pending(text, "SigPnd:") || pending(text, "ShdPnd:"); got != want {
			t.Errorf("%q: %v; want %v", text, got, want)
		}
	}
}
