package workflow

import (
	"strings"
	"testing"
)

// A name that is not known is answered with those that are, and with where one's own goes.
func TestUnknownNamesPointToOwnParts(t *testing.T) {
	_, err := New("my_workflow", Own{})
	_, err2 := WithDefaults("math_workflow", Rollout{RewardName: "my_reward"}, Own{})
	const bring = "a plug-in file (docs/guide/python.md) or a Go program (examples/plugin) can bring its "
	for want, err := range map[string]error{bring + "own workflow": err, bring + "own reward": err2} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
