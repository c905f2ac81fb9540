package workflow

import (
	"strings"
	"testing"
)

// A name that is not known is answered with those that are, and with where one's own goes.
func TestUnknownNamesPointToOwnParts(t *testing.T) {
	_, err := New("my_workflow", Own{})
	_, err2 := WithDefaults("math_workflow", Rollout{RewardName: "my_reward"}, Own{})
	for want, err := range map[string]error{"a Go program can bring a workflow of its own (examples/plugin)": err,
		"a Go program can bring a reward of its own (examples/plugin)": err2} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
