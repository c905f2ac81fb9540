package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks puts marks at multiples of 1, 2 or 5 times a power of ten, about eight of them, with short labels.
type ticks struct{}

// Ticks implements plot.Ticker.
func (ticks) Ticks(low, high float64) []plot.Tick {
	step := stepSize(low, high)
	decimals := max(0, -int(math.Floor(math.Log10(step))))
	var out []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		v := i * step
		if v == 0 {
			v = 0 // not "-0"
		}
		out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', decimals, 64)})
	}
	return out
}

func stepSize(low, high float64) float64 {
	rough := (high - low) / 8
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if rough <= m*power {
			return m * power
		}
	}
	return 10 * power
}
