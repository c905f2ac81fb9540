package run

import (
	"os"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/tool"
)

// TestMain makes this test binary a program whose tools have a sandbox, and the agents of tests.
func TestMain(m *testing.M) {
	if code, is := tool.Stage(os.Args); is {
		os.Exit(code)
	}
	if role := os.Getenv("RUN_TEST_AGENT"); role != "" {
		os.Exit(agentMain(role))
	}
	os.Exit(m.Run())
}
