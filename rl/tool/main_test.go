package tool

import (
	"errors"
	"os"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

// TestMain makes this test binary a program that opens sandboxes, and an MCP server.
func TestMain(m *testing.M) {
	if code, is := Stage(os.Args); is {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == "mcp-server" {
		os.Exit(serveStdio())
	}
	pythontest.Direct()
	os.Exit(m.Run())
}

// python opens the Python tool in a sandbox of a kind, or skips the test with the reason why there is none.
func python(t testing.TB, kind sandbox.Kind) *Python {
	t.Helper()
	if _, err := findPython(t.Context(), "python3"); err != nil {
		t.Skip("no Python: ", err)
	}
	p, _, err := openPython(t.Context(), env.ToolSpec{Sandbox: string(kind)}, true)
	if errors.Is(err, sandbox.ErrRefused) {
		t.Skip("no sandbox: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}
