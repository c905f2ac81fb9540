package tool

import (
	"os"
	"strings"
	"testing"
)

// A server of the Python SDK. MCP_PYTHON names a Python in which the package mcp is installed:
//
//	MCP_PYTHON=venv/bin/python go test ./rl/tool -run TestMCPOfPython
func TestMCPOfPython(t *testing.T) {
	python := os.Getenv("MCP_PYTHON")
	if python == "" {
		t.Skip("MCP_PYTHON names no Python with the package mcp")
	}
	m := open(t, python+" testdata/server.py")
	m.servers[0].timeout = mcpTimeout
	for _, c := range []struct {
		name, arguments, want string
		failed                bool
	}{
		{"add", `{"a": 2, "b": 40}`, "42", false},
		{"greet", `{"name": "Bo 😀"}`, "hello Bo 😀", false},
		{"fail", "{}", "[Tool execution error: Error executing tool fail", true},
		{"add", `{"a": "x"}`, "[Tool execution error: ", true},
		{"person", "", `"name": "Ann"`, false},
	} {
		use, err := m.Use(t.Context(), write(c.name, c.arguments))
		if err != nil || use.Failed != c.failed || !strings.Contains(use.Text, c.want) {
			t.Errorf("%s %s: %+v, %v; want %q", c.name, c.arguments, use, err, c.want)
		}
	}
	line := `{"type": "function", "function": {"name": "add", "description": "Adds two numbers."`
	if !strings.Contains(m.Instruction(), line) {
		t.Errorf("the instruction is\n%s", m.Instruction())
	}
}
