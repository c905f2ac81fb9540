package monitor

import (
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
)

// Suffixed splits the name of a metric, such as tokens:sum, into what is measured and how many values become one: by
// sum, max, min or last, as Trinity-RFT 0.6.0 has it. Any other name is measured by mean; :mean says so too.
func Suffixed(name string) (base, by string) {
	if i := strings.LastIndexByte(name, ':'); i >= 0 && slices.Contains([]string{"mean", "sum", "max", "min", "last"},
		name[i+1:]) {
		return name[:i], name[i+1:]
	}
	return name, "mean"
}

// Reduced is one number of values, of which there is at least one, by what Suffixed says.
func Reduced(by string, values []float64) float64 {
	switch by {
	case "sum":
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		return sum
	case "max":
		return slices.Max(values)
	case "min":
		return slices.Min(values)
	case "last":
		return values[len(values)-1]
	}
	return moment.Mean(values)
}
