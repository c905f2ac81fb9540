package run

import (
	"os/exec"
	"strings"
	"testing"
)

// TestGemVerifiersReal: trinity gem plays an environment of verifiers by its env_id, exactly on policy, and the same
// each time.
func TestGemVerifiersReal(t *testing.T) {
	if *verifiersPython == "" {
		t.Skip("needs the package verifiers: make verifiers")
	}
	id := "verifiers:sums?limit=8&dir=" + absolute(t, "examples/verifiers")
	o := options()
	o.Python.Executable = *verifiersPython
	for _, method := range []string{"reinforce", "grpo"} {
		pairs := func() []string {
			return short(t.TempDir(), "model_name=examples/tiny/model", "env_id="+id, "eval_every=0", "group_size=2",
				"max_steps=2", "max_tokens=50", "method="+method)
		}
		_, lines := gemRuns(t, o, pairs())
		onPolicy(t, lines)
		_, again := gemRuns(t, o, pairs())
		same(t, method+" again", again, lines)
		for _, l := range lines {
			t.Logf("%s, step %d: gap 0, return %.3f", method, l.Step, l.Metrics["sampler/episode_return"])
		}
	}
}

// What trinity gem cannot do with an environment of verifiers is said before it begins.
func TestGemVerifiersRefuses(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
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
