package stats

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// acceptsJSON reports whether a client accepts JSON by name.
func acceptsJSON(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json")
}

// members are the metrics as members of one JSON object: each line of Prometheus' text format is one, with the name and
// its labels as the key. What JSON has no number for, such as infinity, is null.
func (t *Stats) members() (map[string]*float64, error) {
	families, err := t.registry.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			return nil, err
		}
	}
	members := map[string]*float64{}
	for line := range strings.Lines(text.String()) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			return nil, err
		}
		if members[line[:at]] = &x; math.IsNaN(x) || math.IsInf(x, 0) {
			members[line[:at]] = nil
		}
	}
	return members, nil
}
