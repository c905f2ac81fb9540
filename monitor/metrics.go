package monitor

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Metrics are named numbers. Whatever is written from them is in order of their names.
type Metrics map[string]float64

// Keys returns the names in byte order.
func (m Metrics) Keys() []string { return slices.Sorted(maps.Keys(m)) }

// Merge copies other into m; a name in both has other's value afterwards.
func (m Metrics) Merge(other Metrics) { maps.Copy(m, other) }

// IsTime reports whether a metric measures the clock or the machine: time/*, perf/* and timing_per_token_ms/*, also
// behind a prefix such as eval/. Only these may differ between two runs with one seed.
func IsTime(key string) bool {
	for _, p := range []string{"time/", "perf/", "timing_per_token_ms/"} {
		if strings.HasPrefix(key, p) || strings.Contains(key, "/"+p) {
			return true
		}
	}
	return false
}

// appendLine appends the JSON object of one step: "step" first, then the metrics by name. Numbers are the shortest that
// read back as the same float64; what is not a number (NaN, infinities) is null.
func (m Metrics) appendLine(buf []byte, step int) []byte {
	buf = strconv.AppendInt(append(buf, `{"step":`...), int64(step), 10)
	for _, k := range m.Keys() {
		buf = append(buf, ',')
		buf = appendQuoted(buf, k)
		buf = append(buf, ':')
		buf = appendNumber(buf, m[k])
	}
	return append(buf, "}\n"...)
}

func appendNumber(buf []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(buf, "null"...)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(buf, v, format, -1, 64)
}

// Summary returns prefix/mean, prefix/max and prefix/min of values, leaving out NaN; nothing when no value is left.
func Summary(prefix string, values []float64) Metrics {
	n, sum, high, low := 0, 0.0, math.Inf(-1), math.Inf(1)
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		n++
		sum += v
		high, low = max(high, v), min(low, v)
	}
	if n == 0 {
		return Metrics{}
	}
	return Metrics{prefix + "/mean": sum / float64(n), prefix + "/max": high, prefix + "/min": low}
}
