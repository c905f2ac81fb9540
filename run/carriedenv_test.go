package run

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

// What trinity gem cannot do with an environment of verifiers is said before it begins.
func TestGemVerifiersRefuses(t *testing.T) {
	pythontest.Needed(t)
	for want, pairs := range map[string][]string{
		"says whole prompts in the model's chat template": {"env_id=verifiers:sums", "env_wrappers=concat_chat"},
		"limt is not an argument":                         {"env_id=verifiers:sums?limt=3"},
		"say with tasks=ID which environment":             {"env_id=verifiers:tcp://127.0.0.1:1"},
		// an installed verifiers has no environment of this name; without one that is what is said
		"nothing_of_this_name": {"env_id=verifiers:nothing_of_this_name"},
	} {
		err := Gem(t.Context(), short(t.TempDir(), pairs...), options())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", pairs, err, want)
		}
	}
}
