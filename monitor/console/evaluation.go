package console

import (
	"regexp"
	"slices"
	"strings"
)

// evaluated is a metric of an evaluated taskset: its prefix and name, the metric, and the statistic over repetitions.
// With the spread over tasks there are four of each, of which a person reads the mean.
var evaluated = regexp.MustCompile(`^((?:eval|bench)/.+)/([^/]+)/([a-z]+@\d+)(?:/mean)?$`)

// evaluations are the keys that a user wants to read: of each taskset the accuracy, else the reward, else
// what else its workflow measures. Of an evaluation during a run, and of those with a statistic, the mean is enough.
func evaluations(keys []string, statistic string) (shown []string) {
	sets := map[string][]string{} // the metrics of each
	for _, key := range keys {
		if m := evaluated.FindStringSubmatch(key); m != nil {
			sets[m[1]] = append(sets[m[1]], m[2])
		}
	}
	for _, key := range keys {
		m := evaluated.FindStringSubmatch(key)
		if m == nil || !strings.HasPrefix(m[3], statistic) ||
			strings.HasPrefix(key, "eval/") && !strings.HasPrefix(m[3], "mean@") {
			continue
		}
		have := sets[m[1]]
		switch {
		case m[2] == "accuracy", m[2] == "reward" && !slices.Contains(have, "accuracy"),
			!slices.Contains(have, "accuracy") && !slices.Contains(have, "reward"):
			shown = append(shown, key)
		}
	}
	return shown
}
