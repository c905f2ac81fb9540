package budget

import (
	"testing"
	"testing/synctest"
	"time"
)

// Work that takes the same time is measured for probeLeast, and slow work twice. Where the tries differ, it is measured
// for probeTime, and the best counts.
func TestFastest(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name string
		took []time.Duration // of the tries, in turns
		want int             // tries
	}{
		{"even", []time.Duration{10 * ms}, 4},
		{"slow", []time.Duration{time.Second, 2 * time.Second}, 2},
		{"one try is undisturbed", []time.Duration{30 * ms, 35 * ms, 35 * ms, 400 * ms}, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			best, err := fastest(func() (int, error) {
				time.Sleep(tt.took[tries%len(tt.took)])
				tries++
				return 90, nil
			})
			if want := 90 / tt.took[0].Seconds(); err != nil || best < .999*want || best > 1.001*want {
				t.Errorf("%s: %v tokens per second, %v, want %v", tt.name, best, err, want)
			}
			if tries != tt.want {
				t.Errorf("%s: %d tries, want %d", tt.name, tries, tt.want)
			}
		})
	}
}
